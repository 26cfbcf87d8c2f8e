/** The settings that a job runs with, and the processes it has had. */

import { useState } from "preact/hooks";
import { usePolled } from "../../api/polling";
import type { Attempt, ConfigEntry, JobConfig } from "../../api/types";
import { duration, moment } from "../../format/times";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import type { TabProps } from "../job";

export function ConfigurationTab({ job }: TabProps) {
  const config = usePolled<JobConfig>(`jobs/${job.jid}/config`, 0);
  const attempts = usePolled<{ attempts: Attempt[] }>(`jobs/${job.jid}/attempts`, 5000);
  const entries = usePolled<ConfigEntry[]>(`jobs/${job.jid}/jobmanager/config`, 0);
  return (
    <>
      <Loaded of={config}>{(data) => <Parts of={data} origins={originsOf(entries.data ?? [])} />}</Loaded>
      {attempts.data && (
        <Panel title="Processes" flush>
          <Table
            caption="Processes of the job, newest first"
            rows={[...attempts.data.attempts].reverse()}
            rowKey={(row) => row.attempt}
            columns={[
              { title: "Attempt", cell: (row) => row.attempt, figure: true },
              { title: "Process", cell: (row) => row.pid, figure: true },
              { title: "Started", cell: (row) => moment(row["start-time"]), figure: true },
              { title: "Duration", cell: (row) => duration(row.duration), figure: true },
              { title: "Outcome", cell: (row) => row.outcome || "Running" },
            ]}
          />
        </Panel>
      )}
    </>
  );
}

/** Where settings come from, by their names; undefined: the server does not tell. */
export function originsOf(entries: ConfigEntry[]): Map<string, string> | undefined {
  const known = entries.filter(({ origin }) => origin);
  return known.length ? new Map(known.map(({ key, origin }) => [key, origin!])) : undefined;
}

function Parts({ of, origins }: { of: JobConfig; origins: Map<string, string> | undefined }) {
  const { "user-config": own = {}, ...execution } = of["execution-config"];
  return (
    <>
      <Panel title="Execution" flush>
        <Settings caption="How the job is executed" values={execution} />
      </Panel>
      <Panel title="Settings" flush>
        <Settings caption="Settings of the job" values={own} origins={origins} searched />
      </Panel>
    </>
  );
}

interface SettingsProps {
  caption: string;
  values: object;
  /** Where each value comes from. */
  origins?: Map<string, string> | undefined;
  /** Whether there is a field to find one. */
  searched?: boolean;
}

/** Names and values as a table. */
export function Settings({ caption, values, origins, searched = false }: SettingsProps) {
  const [sought, setSought] = useState("");
  const rows = Object.entries(values).filter(([name]) => name.toLowerCase().includes(sought.toLowerCase()));
  return (
    <>
      {searched && (
        <input
          type="search"
          class="search inset"
          placeholder="Find a setting"
          aria-label="Find a setting"
          value={sought}
          onInput={(event) => setSought(event.currentTarget.value)}
        />
      )}
      {rows.length ? (
        <Table
          caption={caption}
          rows={rows}
          rowKey={([name]) => name}
          columns={[
            { title: "Name", cell: ([name]) => <code>{name}</code>, sort: ([name]) => name },
            { title: "Value", cell: ([, value]) => <code class="value">{shown(value)}</code> },
            ...(origins ? [{ title: "From", cell: ([name]: [string, unknown]) => origins.get(name) ?? "–", sort: ([name]: [string, unknown]) => origins.get(name) }] : []),
          ]}
        />
      ) : (
        <Empty>There are no settings.</Empty>
      )}
    </>
  );
}

function shown(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
