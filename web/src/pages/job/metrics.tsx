/** Metrics and accumulators by their names. */

import { useMemo, useState } from "preact/hooks";
import { usePolled } from "../../api/polling";
import type { Accumulators, MetricValue } from "../../api/types";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import type { TabProps } from "../job";

/** Values asked for at once; more names than that must be searched. */
const MOST = 200;

export function MetricsTab({ job }: TabProps) {
  const [scope, setScope] = useState("");
  const accumulators = usePolled<Accumulators>(`jobs/${job.jid}/accumulators`, 5000);
  const own = accumulators.data?.["user-task-accumulators"] ?? [];
  const scopes = (
    <select aria-label="Whose metrics" value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
      <option value="">The job</option>
      {job.vertices.map(({ id, name }) => (
        <option key={id} value={id}>{name}</option>
      ))}
    </select>
  );
  return (
    <>
      <Panel title="Accumulators" flush>
        {own.length ? (
          <Table
            caption="Accumulators"
            rows={own}
            rowKey={(row) => row.name}
            columns={[
              { title: "Name", cell: (row) => <code>{row.name}</code>, sort: (row) => row.name },
              { title: "Type", cell: (row) => row.type },
              { title: "Value", cell: (row) => row.value, figure: true },
            ]}
          />
        ) : (
          <Empty>The job has no accumulators.</Empty>
        )}
      </Panel>
      <Panel title="Metrics" flush tools={scopes}>
        <Metrics key={scope} path={scope ? `jobs/${job.jid}/vertices/${scope}/metrics` : `jobs/${job.jid}/metrics`} />
      </Panel>
    </>
  );
}

function Metrics({ path }: { path: string }) {
  const names = usePolled<MetricValue[]>(path, 0);
  const [sought, setSought] = useState("");
  const wanted = useMemo(() => {
    const all = (names.data ?? []).map(({ id }) => id).sort();
    return all.filter((id) => id.toLowerCase().includes(sought.toLowerCase()));
  }, [names.data, sought]);
  const asked = wanted.slice(0, MOST).map(encodeURIComponent).join(",");
  const values = usePolled<MetricValue[]>(asked ? `${path}?get=${asked}` : null);
  const known = new Map((values.data ?? []).map(({ id, value }) => [id, value]));
  return (
    <Loaded of={names}>
      {() => (
        <>
          <input
            type="search" class="search inset" placeholder="Find a metric" aria-label="Find a metric"
            value={sought} onInput={(event) => setSought(event.currentTarget.value)}
          />
          {wanted.length ? (
            <Table
              caption="Metrics"
              rows={wanted.slice(0, MOST)}
              rowKey={(id) => id}
              columns={[
                { title: "Name", cell: (id) => <code>{id}</code> },
                { title: "Value", cell: (id) => known.get(id) ?? "–", figure: true },
              ]}
            />
          ) : (
            <Empty>There is no such metric.</Empty>
          )}
          {wanted.length > MOST && <p class="muted line inset">{wanted.length - MOST} more: search to see them.</p>}
        </>
      )}
    </Loaded>
  );
}
