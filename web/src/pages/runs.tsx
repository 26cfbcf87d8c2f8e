/** Two runs side by side: figures, stages, and the settings that differ. */

import type { ComponentChildren } from "preact";
import { usePolled } from "../api/polling";
import type { Checkpoints, JobConfig, JobDetails, JobRow, Vertex } from "../api/types";
import { bytes, count, percent, rate } from "../format/numbers";
import { duration, moment } from "../format/times";
import { changeText, differentSettings, stagePairs } from "../model/runs";
import { Heading } from "../parts/heading";
import { Empty, Problem } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Status } from "../parts/status";
import { Table } from "../parts/table";
import { go, to } from "../route";

interface Run {
  job: JobDetails;
  checkpoints: Checkpoints | undefined;
  config: JobConfig | undefined;
}

interface Figure {
  name: string;
  value: (run: Run) => ComponentChildren;
  /** What the share by which the second run differs is computed from. */
  number?: (run: Run) => number | null | undefined;
}

const FIGURES: Figure[] = [
  { name: "Status", value: ({ job }) => <Status of={job.state} /> },
  { name: "Started", value: ({ job }) => moment(job["start-time"]) },
  { name: "Duration", value: ({ job }) => duration(job.duration), number: ({ job }) => job.duration },
  { name: "Records", value: ({ job }) => count(job.records), number: ({ job }) => job.records },
  { name: "Throughput", value: ({ job }) => rate(job["records-per-second"]), number: ({ job }) => job["records-per-second"] },
  { name: "Restarts", value: ({ job }) => count(job.restarts) },
  { name: "Executor", value: ({ job }) => job.executor || "–" },
  { name: "Largest parallelism", value: ({ job }) => count(Math.max(0, ...job.vertices.map(({ parallelism }) => parallelism))) },
  { name: "Checkpoints", value: ({ checkpoints }) => count(checkpoints?.counts.completed) },
  { name: "Failed checkpoints", value: ({ checkpoints }) => count(checkpoints?.counts.failed) },
  {
    name: "Checkpoint, median",
    value: ({ checkpoints }) => duration(checkpoints?.summary?.end_to_end_duration?.p50),
    number: ({ checkpoints }) => checkpoints?.summary?.end_to_end_duration?.p50,
  },
  {
    name: "Checkpoint, longest",
    value: ({ checkpoints }) => duration(checkpoints?.summary?.end_to_end_duration?.max),
    number: ({ checkpoints }) => checkpoints?.summary?.end_to_end_duration?.max,
  },
  {
    name: "State",
    value: ({ checkpoints }) => bytes(checkpoints?.latest.completed?.state_size),
    number: ({ checkpoints }) => checkpoints?.latest.completed?.state_size,
  },
];

/** By how much the second run differs from the first one. */
function Change({ of, from, to: other }: { of: Figure; from: Run; to: Run }) {
  const text = changeText(of.number?.(from), of.number?.(other));
  return text ? <span class="change muted"> {text}</span> : null;
}

export function RunsPage({ query }: { query: URLSearchParams }) {
  const jobs = usePolled<{ jobs: JobRow[] }>("jobs/overview", 5000);
  const rows = jobs.data?.jobs ?? [];
  const left = query.get("left") ?? "";
  const right = query.get("right") ?? beforeOf(rows, left);
  const choose = (chosen: { left: string; right: string }): void => go(["jobs", "compare"], chosen);
  return (
    <>
      <p class="crumbs"><a href={to(["jobs"])}>Jobs</a></p>
      <Heading title="Compare runs" />
      <div class="form chosen-runs">
        <Choice title="First run" rows={rows} chosen={left} choose={(id) => choose({ left: id, right })} />
        <Choice title="Second run" rows={rows} chosen={right} choose={(id) => choose({ left, right: id })} />
      </div>
      {left && right ? <Comparison key={`${left} ${right}`} left={left} right={right} /> : <Panel title="Figures"><Empty>Choose two runs.</Empty></Panel>}
    </>
  );
}

/** The run of the same name before a run, else the one after it. */
function beforeOf(rows: JobRow[], id: string): string {
  const run = rows.find(({ jid }) => jid === id);
  const others = rows.filter(({ jid, name }) => jid !== id && name === run?.name).sort((a, b) => b["start-time"] - a["start-time"]);
  return (others.find((row) => row["start-time"] <= (run?.["start-time"] ?? 0)) ?? others.at(-1))?.jid ?? "";
}

function Choice({ title, rows, chosen, choose }: { title: string; rows: JobRow[]; chosen: string; choose: (id: string) => void }) {
  return (
    <label class="field">
      {title}
      <select aria-label={title} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">–</option>
        {rows.map((row) => <option key={row.jid} value={row.jid}>{row.name}, {moment(row["start-time"])}</option>)}
      </select>
    </label>
  );
}

function useRun(id: string): { run: Run | null; problem: string } {
  const job = usePolled<JobDetails>(`jobs/${id}`);
  const checkpoints = usePolled<Checkpoints>(`jobs/${id}/checkpoints`);
  const config = usePolled<JobConfig>(`jobs/${id}/config`, 0);
  const run = job.data ? { job: job.data, checkpoints: checkpoints.data, config: config.data } : null;
  return { run, problem: job.error?.message ?? "" };
}

function Comparison({ left, right }: { left: string; right: string }) {
  const [first, second] = [useRun(left), useRun(right)];
  if (!first.run || !second.run) {
    const problem = first.problem || second.problem;
    return problem ? <Problem>{problem}</Problem> : <p class="empty" aria-busy="true">Loading…</p>;
  }
  const [a, b] = [first.run, second.run];
  return (
    <>
      <Panel title="Figures" flush>
        <Table
          caption="Figures of both runs" kind="sides"
          rows={FIGURES}
          rowKey={(row) => row.name}
          columns={[
            { title: "Figure", cell: (row) => row.name },
            { title: "First", cell: (row) => row.value(a) },
            { title: "Second", cell: (row) => <>{row.value(b)}<Change of={row} from={a} to={b} /></> },
          ]}
        />
      </Panel>
      <Panel title="Stages" flush>
        <Table
          caption="Stages of both runs"
          rows={stagePairs(a.job.vertices, b.job.vertices).map((pair, index) => ({ ...pair, index }))}
          rowKey={(row) => row.index}
          columns={[
            { title: "Stage", cell: (row) => <span class="wrap">{row.name}</span> },
            ...SIDES.map(({ side, title }) => (
              { title: `Records in, ${title}`, figure: true, cell: (row: Sides) => count(recordsOf(row[side])) }
            )),
            ...SIDES.map(({ side, title }) => (
              { title: `Busy, ${title}`, figure: true, cell: (row: Sides) => percent(row[side]?.["busy-ratio"]) }
            )),
          ]}
        />
      </Panel>
      {a.config && b.config && <DifferentSettings left={a.config} right={b.config} />}
    </>
  );
}

interface Sides {
  left: Vertex | undefined;
  right: Vertex | undefined;
}

const SIDES = [{ side: "left", title: "first" }, { side: "right", title: "second" }] as const;

function recordsOf(vertex: Vertex | undefined): number | null {
  const value = vertex?.metrics?.["read-records"] || vertex?.metrics?.["write-records"];
  return typeof value === "number" ? value : null;
}

function DifferentSettings({ left, right }: { left: JobConfig; right: JobConfig }) {
  const rows = differentSettings(left, right);
  return (
    <Panel title="Settings that differ" flush>
      {rows.length ? (
        <Table
          caption="Settings that differ between both runs"
          rows={rows}
          rowKey={(row) => row.name}
          columns={[
            { title: "Name", cell: (row) => <code>{row.name}</code> },
            { title: "First", cell: (row) => <code class="value">{row.left ?? "–"}</code> },
            { title: "Second", cell: (row) => <code class="value">{row.right ?? "–"}</code> },
          ]}
        />
      ) : (
        <Empty>Both runs have the same settings.</Empty>
      )}
    </Panel>
  );
}
