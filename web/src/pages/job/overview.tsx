/** The dataflow graph with live figures, and the course of the last hour. */

import { useMemo, useState } from "preact/hooks";
import { usePolled } from "../../api/polling";
import { useHistory } from "../../api/job_history";
import type { Exceptions, HistoryPoint } from "../../api/types";
import { bytes, count, percent, rate } from "../../format/numbers";
import { duration } from "../../format/times";
import { busiest, dataflowOf, slowest } from "../../model/dataflow";
import { isOver } from "../../model/job_status";
import { headline } from "../../model/traceback";
import { Chart, type Series } from "../../parts/chart";
import { Graph } from "../../parts/graph";
import { Empty } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { to } from "../../route";
import type { TabProps } from "../job";
import { OperatorPanel } from "./operator";

type Measure = Exclude<keyof HistoryPoint, "time">;

interface ChartKind {
  measure: Measure;
  title: string;
  format: (value: number | null) => string;
  top?: number;
  steps?: number[];
  /** Left out where it was never measured. */
  optional?: boolean;
}

/** Powers of two. */
const BYTE_STEPS = Array.from({ length: 45 }, (_, power) => 2 ** power);

const CHARTS: ChartKind[] = [
  { measure: "records-per-second", title: "Throughput", format: rate },
  { measure: "latency-ms", title: "Latency", format: duration, optional: true },
  { measure: "watermark-lag-ms", title: "Watermark lag", format: duration },
  { measure: "epoch-ms", title: "Epoch time", format: duration },
  { measure: "checkpoint-ms", title: "Checkpoint duration", format: duration },
  { measure: "checkpoint-bytes", title: "State size", format: bytes, steps: BYTE_STEPS },
  { measure: "busy-ratio", title: "Busy share", format: percent, top: 1 },
];
const SPANS = [5, 15, 60];
const MINUTE_MS = 60_000;

export function OverviewTab({ job }: TabProps) {
  const flow = useMemo(() => dataflowOf(job), [job]);
  const [selected, select] = useState<string | null>(null);
  const node = flow.nodes.find(({ id }) => id === selected);
  return (
    <>
      {(job.state === "FAILED" || job.state === "FAILING" || job.state === "RESTARTING") && <Cause id={job.jid} />}
      {job["waits-for"] && <Waiting job={job} />}
      <Panel title="Dataflow" flush tools={<SlowestLine flow={flow} over={isOver(job.state)} select={select} />}>
        {flow.nodes.length ? (
          <div class={node ? "flow with-panel" : "flow"}>
            <Graph flow={flow} selected={selected} select={select} />
            {node && <OperatorPanel job={job.jid} node={node} close={() => select(null)} />}
          </div>
        ) : (
          <Empty>The job has not reported its graph yet.</Empty>
        )}
      </Panel>
      <History id={job.jid} over={job["end-time"] > 0} />
    </>
  );
}

interface SlowestProps {
  flow: ReturnType<typeof dataflowOf>;
  /** Whether the job has ended. */
  over: boolean;
  select: (id: string) => void;
}

function SlowestLine({ flow, over, select }: SlowestProps) {
  const node = over ? null : busiest(flow);
  if (!node) return <p class="muted">{flow.nodes.length === 1 ? "1 stage" : `${count(flow.nodes.length)} stages`}</p>;
  return (
    <p class="slowest">
      {slowest(flow) ? "Slowest" : "Busiest"}:{" "}
      <button type="button" class="link" onClick={() => select(node.id)}>{node.name}</button>
      , {percent(node.vertex?.["busy-ratio"])} busy
    </p>
  );
}

/** Why a job failed, before all else. */
function Cause({ id }: { id: string }) {
  const { data } = usePolled<Exceptions>(`jobs/${id}/exceptions`, 5000);
  const text = data?.["root-exception"];
  if (!text) return null;
  return (
    <div class="notice bad">
      <strong>{headline(text)}</strong>
      <a href={to(["jobs", id, "exceptions"])}>See the traceback</a>
    </div>
  );
}

/** What a job that does not get on is at. */
function Waiting({ job }: TabProps) {
  const text = job["waits-for"] ?? "";
  return (
    <div class="notice">
      <strong>{text.charAt(0).toUpperCase() + text.slice(1)}</strong>
      <a href={to(["jobs", job.jid, "stacks"])}>See the stacks</a>
    </div>
  );
}

function History({ id, over }: { id: string; over: boolean }) {
  const [minutes, setMinutes] = useState(15);
  const points = useHistory(id, over);
  const shown = useMemo(() => {
    const last = points.at(-1)?.time ?? 0;
    return points.filter(({ time }) => time >= last - minutes * MINUTE_MS);
  }, [points, minutes]);
  const kinds = CHARTS.filter(({ measure, optional }) => !optional || shown.some((point) => point[measure] != null));
  return (
    <Panel title="History" tools={<Span minutes={minutes} choose={setMinutes} />}>
      <div class="charts">
        {kinds.map((kind) => (
          <Line key={kind.measure} points={shown} kind={kind} />
        ))}
      </div>
    </Panel>
  );
}

function Line({ points, kind }: { points: HistoryPoint[]; kind: ChartKind }) {
  const { measure, title, format, top, steps } = kind;
  const series = useMemo<Series>(
    () => ({ times: points.map(({ time }) => time / 1000), values: points.map((point) => point[measure] ?? null) }),
    [points, measure],
  );
  return <Chart title={title} format={format} series={series} group="course" top={top} steps={steps} />;
}

function Span({ minutes, choose }: { minutes: number; choose: (minutes: number) => void }) {
  return (
    <div class="segments" role="group" aria-label="Time span">
      {SPANS.map((span) => (
        <button key={span} type="button" aria-pressed={span === minutes} onClick={() => choose(span)}>
          {span === 60 ? "1 h" : `${span} m`}
        </button>
      ))}
    </div>
  );
}
