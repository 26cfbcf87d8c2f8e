/** The checkpoints of a job: how long they take, how large they are, and which failed. */

import { usePolled } from "../../api/polling";
import { mayOperate } from "../../api/session";
import type { Checkpoint, CheckpointConfig, Checkpoints } from "../../api/types";
import { bytes, count } from "../../format/numbers";
import { clock, duration, moment, since } from "../../format/times";
import { Facts } from "../../parts/facts";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Status } from "../../parts/status";
import { Table } from "../../parts/table";
import { to } from "../../route";
import type { TabProps } from "../job";
import { Settings } from "./configuration";

export function CheckpointsTab({ job }: TabProps) {
  const checkpoints = usePolled<Checkpoints>(`jobs/${job.jid}/checkpoints`);
  const config = usePolled<CheckpointConfig>(`jobs/${job.jid}/checkpoints/config`, 0);
  return (
    <>
      <Loaded of={checkpoints}>{(data) => <Report data={data} now={job.now} />}</Loaded>
      {config.data && (
        <Panel title="Settings" flush>
          <Settings caption="Settings of checkpoints" values={readable(config.data)} />
        </Panel>
      )}
    </>
  );
}

const DURATIONS = new Set(["interval", "timeout", "min_pause"]);

/** The settings, with durations as people read them. */
function readable(config: CheckpointConfig): CheckpointConfig {
  const text = ([name, value]: [string, unknown]): [string, unknown] => [name, DURATIONS.has(name) && typeof value === "number" ? duration(value) : value];
  return Object.fromEntries(Object.entries(config).map(text));
}

function Report({ data, now }: { data: Checkpoints; now: number }) {
  const { counts, latest, summary } = data;
  const completed = latest.completed;
  const failed = latest.failed;
  return (
    <>
      <Facts
        label="Checkpoints at a glance"
        facts={[
          { name: "Completed", value: count(counts.completed) },
          { name: "In progress", value: count(counts.in_progress) },
          { name: "Failed", value: count(counts.failed), tone: counts.failed ? "bad" : undefined },
          { name: "Last one", value: completed ? `${since(completed.latest_ack_timestamp ?? completed.trigger_timestamp, now)} ago` : "–" },
          { name: "Duration, median", value: duration(summary?.end_to_end_duration?.p50 ?? summary?.end_to_end_duration?.avg) },
          { name: "Duration, longest", value: duration(summary?.end_to_end_duration?.max) },
          { name: "Size", value: bytes(completed?.state_size) },
        ]}
      />
      {failed && (
        <div class="notice bad">
          <strong>Checkpoint {failed.id} failed at {moment(failed.failure_timestamp ?? failed.trigger_timestamp)}</strong>
          <span>{failed.failure_message}</span>
        </div>
      )}
      {latest.restored && (
        <p class="muted line">
          Restored from {latest.restored.is_savepoint ? "savepoint" : "checkpoint"}{" "}
          <code>{latest.restored.external_path ?? latest.restored.id}</code> at {moment(latest.restored.restore_timestamp)}
        </p>
      )}
      <Panel title="History" flush>
        {data.history.length ? <History rows={data.history} now={now} /> : <Empty>There is no checkpoint yet.</Empty>}
      </Panel>
    </>
  );
}

function History({ rows, now }: { rows: Checkpoint[]; now: number }) {
  const longest = Math.max(1, ...rows.map((row) => row.end_to_end_duration ?? 0));
  return (
    <Table
      caption="Checkpoints, newest first" dense
      rows={rows}
      rowKey={(row) => row.id}
      columns={[
        { title: "Id", cell: (row) => row.id, sort: (row) => row.id, figure: true },
        { title: "Status", cell: (row) => <Status of={row.status} />, sort: (row) => row.status },
        { title: "Kind", cell: (row) => (row.is_savepoint ? "Savepoint" : "Checkpoint") },
        { title: "Started", cell: (row) => clock(row.trigger_timestamp, now), sort: (row) => row.trigger_timestamp, figure: true },
        {
          title: "Duration",
          figure: true,
          sort: (row) => row.end_to_end_duration,
          cell: (row) => (
            <span class="measured">
              {row.status === "COMPLETED" && (
                <span class="bar" aria-hidden="true"><span style={{ width: `${((row.end_to_end_duration ?? 0) / longest) * 100}%` }} /></span>
              )}
              <span>{duration(row.end_to_end_duration)}</span>
            </span>
          ),
        },
        { title: "Size", cell: (row) => bytes(row.state_size), sort: (row) => row.state_size, figure: true },
        { title: "Written", cell: (row) => bytes(row.checkpointed_size), sort: (row) => row.checkpointed_size, figure: true },
        { title: "Start or error", quiet: true, cell: (row) => <What row={row} /> },
      ]}
    />
  );
}

function What({ row }: { row: Checkpoint }) {
  if (row.failure_message) return <span class="bad-text">{row.failure_message}</span>;
  if (!row.external_path) return null;
  if (row.discarded) return <span class="muted">Deleted</span>;
  if (!mayOperate.value) return null;
  return (
    <a href={to(["submit"], { savepoint: row.external_path })} aria-label={`Start from ${row.is_savepoint ? "savepoint" : "checkpoint"} ${row.id}`}>
      Start from here
    </a>
  );
}
