/** The side panel of a stage: its figures and its subtasks. */

import { useEffect, useId, useRef } from "preact/hooks";
import { usePolled } from "../../api/polling";
import type { OperatorFigures, Subtask, VertexDetails } from "../../api/types";
import { bytes, count, percent, rate, short } from "../../format/numbers";
import { clock, duration, moment } from "../../format/times";
import { type FlowNode, isSkewed } from "../../model/dataflow";
import { described } from "../../model/operators";
import { LoadBar } from "../../parts/graph";
import { Loaded } from "../../parts/notice";
import { Status } from "../../parts/status";
import { Table } from "../../parts/table";
import { PreviewPart } from "./preview";

interface Props {
  job: string;
  node: FlowNode;
  close: () => void;
}

/** From this width on, in pixels, the panel stands beside the graph. */
const WIDE = 1000;

export function OperatorPanel({ job, node, close }: Props) {
  const details = usePolled<VertexDetails>(`jobs/${job}/vertices/${node.id}`);
  const heading = useId();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    // where the panel stands below the graph, it must come into view
    title.current?.focus({ preventScroll: innerWidth > WIDE });
    return () => opener?.focus({ preventScroll: true });
  }, [node.id]);
  const { vertex } = node;
  return (
    <aside
      class="side"
      aria-labelledby={heading}
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <header>
        <h3 id={heading} ref={title} tabIndex={-1}>{node.name}</h3>
        <button type="button" class="icon" aria-label="Close the panel" onClick={close}>×</button>
      </header>
      <dl class="pairs">
        {vertex && <Pair name="Status" value={<Status of={vertex.status} />} />}
        <Pair name="Records in" value={`${rate(vertex?.["records-in-per-second"])}, ${count(total(vertex, "read-records"))} in all`} />
        <Pair name="Records out" value={`${rate(vertex?.["records-out-per-second"])}, ${count(total(vertex, "write-records"))} in all`} />
        <Pair name="Busy" value={largest(vertex?.["busy-ratio"], vertex?.["busy-ratio-median"])} />
        <Pair name="Back pressure" value={largest(vertex?.["back-pressured-ratio"], vertex?.["back-pressured-ratio-median"])} />
        {isSkewed(vertex) && <Pair name="Skew" value={`The busiest subtask has ${vertex!.skew!.toFixed(1)} times the mean`} />}
        <Pair name={node.operators.length > 1 ? "State of all operators" : "State"} value={bytes(vertex?.["state-bytes"])} />
        <Pair name="Watermark" value={moment(vertex?.watermark)} />
        <Pair name="Watermark lag" value={duration(vertex?.["watermark-lag-ms"])} />
        {vertex?.uid && <Pair name="uid" value={<code>{vertex.uid}</code>} />}
      </dl>
      {node.operators.length > 0 && <Operators node={node} figures={details.data?.["operator-figures"] ?? []} />}
      <h4>Subtasks</h4>
      <Loaded of={details}>{({ subtasks, now }) => <Subtasks rows={subtasks} now={now} />}</Loaded>
      <PreviewPart key={node.id} job={job} node={node} />
    </aside>
  );
}

function largest(most: number | null | undefined, median: number | null | undefined): string {
  return median === null || median === undefined ? percent(most) : `${percent(most)}, median ${percent(median)}`;
}

/** The operators of the stage, what each of them does, and how many records it has had. */
function Operators({ node, figures }: { node: FlowNode; figures: OperatorFigures[] }) {
  const of = new Map(figures.map((each) => [each.uid, each]));
  return (
    <>
      <h4>Operators</h4>
      <ol class="operators">
        {node.operators.map(described).map(({ uid, kind, attributes }) => (
          <li key={uid}>
            <h5>{kind}</h5>
            {(attributes.length > 0 || of.has(uid)) && (
              <dl class="pairs">
                {attributes.map(([name, value]) => <Pair key={name} name={name} value={<code>{value}</code>} />)}
                {of.has(uid) && <Pair name="Records" value={`${count(of.get(uid)!["records-in"])} in, ${count(of.get(uid)!["records-out"])} out`} />}
                {of.get(uid)?.watermark != null && <Pair name="Watermark" value={moment(of.get(uid)!.watermark)} />}
              </dl>
            )}
          </li>
        ))}
      </ol>
      {node.operators.length > 1 && <p class="muted">State is measured for the stage, not for each of its operators.</p>}
    </>
  );
}

function Pair({ name, value }: { name: string; value: preact.ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

function Subtasks({ rows, now }: { rows: Subtask[]; now: number }) {
  return (
    <Table
      caption="Subtasks of the stage" dense
      rows={rows}
      rowKey={(row) => row.subtask}
      columns={[
        { title: "Subtask", cell: (row) => row.subtask, sort: (row) => row.subtask, figure: true },
        { title: "In", cell: (row) => short(total(row, "read-records")), sort: (row) => total(row, "read-records"), figure: true },
        { title: "Out", cell: (row) => short(total(row, "write-records")), sort: (row) => total(row, "write-records"), figure: true },
        {
          title: "Busy", figure: true, sort: (row) => row["busy-ratio"],
          cell: (row) => (
            <span class="load-cell" title={`Busy ${percent(row["busy-ratio"])}, back-pressured ${percent(row["back-pressured-ratio"])}`}>
              <LoadBar busy={row["busy-ratio"]} pressed={row["back-pressured-ratio"]} /> {percent(row["busy-ratio"])}
            </span>
          ),
        },
        ...(rows.some((row) => row.watermark != null)
          ? [{ title: "Watermark", cell: (row: Subtask) => clock(row.watermark, now), sort: (row: Subtask) => row.watermark, figure: true }]
          : []),
        { title: "State", cell: (row) => bytes(row["state-bytes"]), sort: (row) => row["state-bytes"], figure: true },
        { title: "Worker", cell: (row) => <span title={row.endpoint}>{row.host || row.endpoint || "–"}</span> },
      ]}
    />
  );
}

function total(of: { metrics?: Record<string, number | boolean | null> } | undefined, name: string): number | null {
  const value = of?.metrics?.[name];
  return typeof value === "number" ? value : null;
}
