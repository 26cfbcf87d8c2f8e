/** What a stage spends its time on: a flame graph of its subtasks' stacks, sampled for a few seconds. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, RequestError } from "../../api/client";
import { mayOnlyRead, mayOperate } from "../../api/session";
import type { FlameGraph, FlameNode } from "../../api/types";
import { count, percent } from "../../format/numbers";
import { clock } from "../../format/times";
import { boxesOf, type FlameBox, neighbour, pathTo } from "../../model/flame";
import { slowest, dataflowOf } from "../../model/dataflow";
import { isOver } from "../../model/job_status";
import { AwaitedRole, Empty, Problem } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import type { TabProps } from "../job";

const TYPES = [
  { type: "FULL", title: "All" },
  { type: "ON_CPU", title: "On CPU" },
  { type: "OFF_CPU", title: "Waiting" },
];
/** Before the name of a program that was uploaded: the server's directory and an id. */
const UPLOADED = /\(\S*[\\/]uploads[\\/][0-9a-f]{32}_/;
const WAITING = -3;
const AGAIN_MS = 1000;
const ROW = 20;

export function FlameTab({ job }: TabProps) {
  const first = useMemo(() => slowest(dataflowOf(job)) ?? job.vertices[0]?.id ?? "", []);
  const [stage, setStage] = useState(first);
  const [type, setType] = useState("FULL");
  const [subtask, setSubtask] = useState("");
  const [round, setRound] = useState(0);
  if (isOver(job.state)) return <Panel title="Flame graph"><Empty>The job has ended, so there is no code to sample.</Empty></Panel>;
  if (mayOnlyRead.value) return <Panel title="Flame graph"><Empty>This token can only read. Log in with the operate token to see flame graphs.</Empty></Panel>;
  // until the token is known, nothing is asked for that it may not allow
  if (!mayOperate.value) return <Panel title="Flame graph"><AwaitedRole /></Panel>;
  const chosen = stage || (job.vertices[0]?.id ?? "");
  const parallelism = job.vertices.find(({ id }) => id === chosen)?.parallelism ?? 0;
  const tools = (
    <>
      <select aria-label="Stage" value={chosen} onChange={(event) => (setStage(event.currentTarget.value), setSubtask(""))}>
        {job.vertices.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
      </select>
      <select aria-label="Subtask" value={subtask} onChange={(event) => setSubtask(event.currentTarget.value)}>
        <option value="">All subtasks</option>
        {Array.from({ length: parallelism }, (_, index) => <option key={index} value={index}>Subtask {index}</option>)}
      </select>
      <div class="segments" role="group" aria-label="Kind of samples">
        {TYPES.map((each) => (
          <button key={each.type} type="button" aria-pressed={each.type === type} onClick={() => setType(each.type)}>{each.title}</button>
        ))}
      </div>
      <button type="button" class="button" onClick={() => setRound(round + 1)}>Sample again</button>
    </>
  );
  const query = new URLSearchParams({ type, ...(subtask ? { subtaskindex: subtask } : {}) });
  return (
    <Panel title="Flame graph" tools={tools}>
      {chosen ? <Sampled path={`jobs/${job.jid}/vertices/${chosen}/flamegraph?${query}`} round={round} now={job.now} /> : <Empty>The job has not reported its graph yet.</Empty>}
    </Panel>
  );
}

/** Asks until the samples are there. `round` grows when new ones are wanted. */
function Sampled({ path, round, now }: { path: string; round: number; now: number }) {
  const [graph, setGraph] = useState<FlameGraph | null>(null);
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const run = async (refresh: boolean): Promise<void> => {
      try {
        const answer = await ask<FlameGraph>(refresh ? `${path}&refresh=true` : path, { signal: abort.signal });
        setProblem("");
        setGraph(answer);
        if (answer.endTimestamp === WAITING) timer = window.setTimeout(() => void run(false), AGAIN_MS);
      } catch (error) {
        if (!abort.signal.aborted) setProblem(error instanceof RequestError ? error.message : String(error));
      }
    };
    void run(round > asked);
    setAsked(round);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [path, round]);
  if (problem) return <Problem>{problem}</Problem>;
  if (!graph || graph.endTimestamp === WAITING) {
    return <p class="empty" aria-busy="true">Sampling the workers for five seconds…</p>;
  }
  if (!graph.data?.value) {
    return <Empty>No subtask of the stage was running in {count(graph.ticks)} samples: the stage waits for input, or its workers cannot be sampled.</Empty>;
  }
  return (
    <>
      <p class="muted line-above">
        {count(graph.data.value)} stacks in {count(graph.ticks)} samples, the last one at {clock(graph.endTimestamp, now)}. Click a call to enlarge it.
      </p>
      <Flames key={graph.endTimestamp} root={graph.data} />
    </>
  );
}

function Flames({ root }: { root: FlameNode }) {
  const [focus, setFocus] = useState<FlameNode[]>([]);
  const shown = focus.length && focus[0] === root ? focus : [root];
  const boxes = useMemo(() => boxesOf(root, shown), [root, shown.at(-1)]);
  const depth = Math.max(0, ...boxes.map((box) => box.depth));
  const current = shown.at(-1)!;
  const group = useRef<HTMLDivElement>(null);
  const [reached, setReached] = useState("");
  /** Where Tab leads to: arrow keys go on from there, because hundreds of calls are too many for Tab. */
  const stop = boxes.find(({ key }) => key === reached) ?? boxes[0];
  const move = (event: KeyboardEvent): void => {
    const to: FlameBox | undefined = stop && neighbour(boxes, stop, event.key);
    if (!to) return;
    event.preventDefault();
    setReached(to.key);
    group.current?.querySelectorAll<HTMLElement>(".flame")[boxes.indexOf(to)]?.focus();
  };
  return (
    <>
      <div
        ref={group} class="flames" style={{ height: `${(depth + 1) * ROW}px` }}
        role="group" aria-label="Flame graph: arrow keys move, Enter enlarges" onKeyDown={move}
      >
        {boxes.map(({ node, key, depth: row, left, width, kind }) => (
          <button
            key={key} type="button" class={`flame ${kind}`} tabIndex={key === stop?.key ? 0 : -1} onFocus={() => setReached(key)}
            title={`${node.name}: ${count(node.value)} samples, ${percent(node.value / root.value)}`}
            style={{ left: `${left}%`, width: `${width}%`, top: `${row * ROW}px`, height: `${ROW - 1}px` }}
            onClick={() => setFocus(pathTo(root, node))}
          >
            {node.name === "root" ? "All" : node.name.replace(UPLOADED, "(")}
          </button>
        ))}
      </div>
      <p class="flame-line">
        <span class="flame-key own">Your code</span> <span class="flame-key millrace">Millrace</span> <span class="flame-key library">Libraries</span>
        <span class="wrap muted">{current === root ? "" : `${current.name}: ${percent(current.value / root.value)}`}</span>
        {current !== root && <button type="button" class="link" onClick={() => setFocus([])}>Show all</button>}
      </p>
    </>
  );
}
