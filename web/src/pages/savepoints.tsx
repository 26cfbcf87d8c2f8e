/** The tree of savepoints of all jobs: take one, start or branch from one, compare two. */

import { useMemo, useState } from "preact/hooks";
import { disposeSavepoint } from "../api/operations";
import { usePolled } from "../api/polling";
import { mayOperate } from "../api/session";
import type { JobRow, SavepointRow } from "../api/types";
import { bytes, count } from "../format/numbers";
import { moment } from "../format/times";
import { isOver } from "../model/job_status";
import { type LaneRow, type Lanes, lanesOf } from "../model/savepoint_lanes";
import { Dialog } from "../parts/dialog";
import { Heading } from "../parts/heading";
import { Empty, Loaded } from "../parts/notice";
import { Panel } from "../parts/panel";
import { go, to } from "../route";
import { SavepointDialog } from "./job/controls";

const LANE = 18;
const FIRST_LANE = 14;
/** Where a row's dot is, below the row's upper edge. */
const DOT_Y = 24;

export function SavepointsPage({ query }: { query: URLSearchParams }) {
  const savepoints = usePolled<{ savepoints: SavepointRow[] }>("savepoints", 5000);
  const jobs = usePolled<{ jobs: JobRow[] }>("jobs/overview", 5000);
  const running = (jobs.data?.jobs ?? []).filter((job) => !isOver(job.state));
  return (
    <>
      <Heading title="Savepoints">
        <Take jobs={running} taken={savepoints.refresh} />
      </Heading>
      <Loaded of={savepoints}>
        {(data) => <Tree all={data.savepoints} job={query.get("job") ?? ""} refresh={savepoints.refresh} />}
      </Loaded>
    </>
  );
}

function Take({ jobs, taken }: { jobs: JobRow[]; taken: () => void }) {
  const [asked, setAsked] = useState(false);
  if (!jobs.length || !mayOperate.value) return null;
  return (
    <div class="actions">
      <button type="button" class="button primary" onClick={() => setAsked(true)}>Take a savepoint</button>
      {asked && <SavepointDialog jobs={jobs} close={() => (setAsked(false), taken())} />}
    </div>
  );
}

interface TreeProps {
  all: SavepointRow[];
  /** Name of the job whose savepoints are shown; empty: of all. */
  job: string;
  refresh: () => void;
}

function Tree({ all, job, refresh }: TreeProps) {
  const names = useMemo(() => [...new Set(all.map((row) => row["job-name"] ?? ""))].filter(Boolean).sort(), [all]);
  const [chosen, setChosen] = useState<string[]>([]);
  const [doomed, setDoomed] = useState<SavepointRow | null>(null);
  const lanes = useMemo(() => lanesOf(job ? all.filter((row) => row["job-name"] === job) : all), [all, job]);
  if (!all.length) {
    return (
      <Panel title="Tree">
        <Empty>There is no savepoint yet. Take one of a running job, or stop a job with a savepoint.</Empty>
      </Panel>
    );
  }
  // a third one takes the place of the older of two
  const choose = (path: string): void =>
    setChosen(chosen.includes(path) ? chosen.filter((other) => other !== path) : [...chosen.slice(-1), path]);
  const [left, right] = [...chosen].sort((a, b) => timeOf(all, a) - timeOf(all, b));
  const tools = (
    <>
      <select aria-label="Job of the savepoints" value={job} onChange={(event) => go(["savepoints"], event.currentTarget.value ? { job: event.currentTarget.value } : {})}>
        <option value="">All jobs</option>
        {names.map((name) => <option key={name} value={name}>{name}</option>)}
      </select>
      <button
        type="button" class="button" disabled={chosen.length !== 2}
        onClick={() => left && right && go(["savepoints", "compare"], { left, right })}
      >
        {chosen.length === 2 ? "Compare the two" : "Choose two to compare"}
      </button>
    </>
  );
  return (
    <Panel title="Tree" tools={tools} flush>
      <ol class="tree" aria-label="Savepoints, newest first">
        {lanes.rows.map((row) => (
          <Row
            key={row.savepoint.path} row={row} lanes={lanes} all={all}
            chosen={chosen.includes(row.savepoint.path)} choose={() => choose(row.savepoint.path)}
            dispose={() => setDoomed(row.savepoint)}
          />
        ))}
      </ol>
      {doomed && (
        <Dialog
          title="Delete this savepoint?" action="Delete it" danger
          close={() => (setDoomed(null), refresh())}
          run={async () => (await disposeSavepoint(doomed.path), "The savepoint is deleted.")}
        >
          <p><code>{doomed.path}</code></p>
          <p>After this, no job can start from the savepoint.</p>
        </Dialog>
      )}
    </Panel>
  );
}

const timeOf = (all: SavepointRow[], path: string): number => all.find((row) => row.path === path)?.time ?? 0;

interface RowProps {
  row: LaneRow;
  lanes: Lanes;
  all: SavepointRow[];
  chosen: boolean;
  choose: () => void;
  dispose: () => void;
}

function Row({ row, lanes, all, chosen, choose, dispose }: RowProps) {
  const { savepoint } = row;
  const parent = all.find(({ id }) => id === savepoint.parent);
  const title = `${savepoint.kind === "savepoint" ? "Savepoint" : "Checkpoint"} of ${moment(savepoint.time)}`;
  const from = parent ? `, continued from that of ${moment(parent.time)}` : row.orphan ? ", continued from a deleted one" : "";
  return (
    <li class={chosen ? "chosen" : undefined}>
      <LaneLines row={row} width={lanes.width} />
      <div class="node">
        <label class="check">
          <input type="checkbox" checked={chosen} onChange={choose} aria-label={`Choose the ${title} to compare`} />
          <span class="strong">{savepoint["job-name"] ?? "Unknown job"}</span>
        </label>
        <p class="muted">{title}<span class="hidden">{from}</span></p>
        <p class="muted">{bytes(savepoint.size)} · epoch {count(savepoint.epoch)}{savepoint.operators && <span class="operators"> · {savepoint.operators.length} operators</span>}</p>
        <p class="path"><code>{savepoint.path}</code></p>
      </div>
      {mayOperate.value && (
        <div class="actions">
          <a class="button" href={to(["submit"], start(savepoint, false))} aria-label={`Start from the ${title}`}>Start</a>
          <a class="button" href={to(["submit"], start(savepoint, true))} aria-label={`Branch off the ${title}`}>Branch</a>
          {savepoint.kind === "savepoint" && (
            <button type="button" class="button quiet danger" aria-label={`Delete the ${title}`} onClick={dispose}>Delete</button>
          )}
        </div>
      )}
    </li>
  );
}

/** What the form is filled with. A branch is another job, so it needs another name. */
function start(savepoint: SavepointRow, branch: boolean): Record<string, string> {
  const name = savepoint["job-name"];
  return {
    savepoint: savepoint.path,
    ...(name ? { name: branch ? `${name} (branch)` : name } : {}),
    ...(savepoint["job-id"] ? { of: savepoint["job-id"] } : {}),
  };
}

function LaneLines({ row, width }: { row: LaneRow; width: number }) {
  const x = (lane: number): number => FIRST_LANE + lane * LANE;
  const all = x(width - 1) + FIRST_LANE;
  return (
    <div class="lanes" aria-hidden="true" style={{ width: `${all}px` }}>
      <svg class="upper" viewBox={`0 0 ${all} ${DOT_Y}`}>
        {row.lines.filter(({ half }) => half === "upper").map(({ from, to: end }) => (
          <path key={from} d={bend(x(from), x(end))} />
        ))}
      </svg>
      <svg class="lower" preserveAspectRatio="none" viewBox={`0 0 ${all} 1`}>
        {row.lines.filter(({ half }) => half === "lower").map(({ from }) => (
          <path key={from} vector-effect="non-scaling-stroke" d={`M${x(from)} 0V1`} />
        ))}
      </svg>
      <span class={`dot ${row.savepoint.kind}`} style={{ left: `${x(row.lane)}px` }} />
    </div>
  );
}

/** From the upper edge to the dot. */
function bend(from: number, end: number): string {
  return from === end ? `M${from} 0V${DOT_Y}` : `M${from} 0C${from} ${DOT_Y / 1.5} ${end} ${DOT_Y / 3} ${end} ${DOT_Y}`;
}
