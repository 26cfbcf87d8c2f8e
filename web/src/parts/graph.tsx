/** The dataflow graph of a job: stages as buttons with live figures, and the lines between them. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { percent, rate } from "../format/numbers";
import { duration } from "../format/times";
import { type Dataflow, type FlowNode, BUSY, isSkewed, PRESSED, shapeOf, slowest } from "../model/dataflow";
import { neighbourOf } from "../model/graph_keys";
import type { Layout, Place } from "../model/layout";

interface Props {
  flow: Dataflow;
  selected: string | null;
  select: (id: string | null) => void;
}

type Layouts = typeof import("../model/layout");

const SMALLEST = 0.12;
/** The smallest that `Fit` makes a graph: a larger one is scrolled, so that names can still be read. */
const READABLE = 0.36;
const LARGEST = 1.5;
/** Room for one, so that it does not bring up the other. */
const SCROLLBAR = 16;
/** Room below the graph for the buttons, in pixels; as in graph.css. */
const BUTTONS = 46;
const STEP = 1.25;
/** Below this size the figures could not be read: names are written large, and how busy is shown in colour. */
const OUTLINE = 0.55;
/** Below this size only the figures that matter most are shown, in larger type. */
const COMPACT = 0.82;
/** Below this width, in pixels, the graph runs from top to bottom. */
const NARROW = 700;

export function Graph({ flow, selected, select }: Props) {
  const view = useRef<HTMLDivElement>(null);
  const [layouts, setLayouts] = useState<Layouts | null>(null);
  const [narrow, setNarrow] = useState(innerWidth < NARROW);
  const [scale, setScale] = useState(1);
  const [width, setWidth] = useState(0);
  /** Whether somebody has chosen the size: then it stays when the room changes. */
  const zoomed = useRef(false);
  useEffect(() => void import("../model/layout").then(setLayouts), []);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => {
      const room = entry?.contentRect.width ?? 0;
      setNarrow(room < NARROW);
      setWidth(Math.round(room));
    });
    if (view.current) watcher.observe(view.current);
    return () => watcher.disconnect();
  }, []);
  const shape = shapeOf(flow);
  const layout = useMemo(() => layouts?.layoutOf(flow, narrow ? "TB" : "LR"), [layouts, shape, narrow]);
  const busiest = slowest(flow);
  const list = useRef<HTMLOListElement>(null);
  const [reached, setReached] = useState("");
  /** Where Tab leads to: arrow keys go on from there, because a hundred stages are too many for Tab. */
  const stop = [reached, selected, busiest].find((id) => flow.nodes.some((node) => node.id === id)) ?? flow.nodes[0]?.id;
  const move = (event: KeyboardEvent): void => {
    const to = layout && stop ? neighbourOf(layout.nodes, stop, event.key) : null;
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setReached(to);
    list.current?.querySelectorAll<HTMLElement>(".operator")[flow.nodes.findIndex(({ id }) => id === to)]?.focus();
  };
  /** What comes into the middle of the window, in the layout's own measure. */
  const centre = useRef<Place | null>(null);
  const fit = (): void => {
    zoomed.current = false;
    if (!layout || !view.current) return;
    const highest = parseFloat(getComputedStyle(view.current).maxHeight) - BUTTONS;
    const whole = Math.min(view.current.clientWidth / layout.width, highest / layout.height);
    const fitting = Math.min(1, Math.max(whole, narrow ? 0.6 : READABLE));
    centre.current = placeOf(selected ?? busiest ?? flow.nodes[0]?.id);
    setScale(fitting);
    // also when the size is the same as before
    if (fitting === scale) bring();
  };
  const placeOf = (id: string | undefined | null): Place | null => {
    const corner = id ? layout?.nodes.get(id) : undefined;
    const node = flow.nodes.find((other) => other.id === id);
    return corner && layouts && node ? { x: corner.x + layouts.NODE_WIDTH / 2, y: corner.y + layouts.heightOf(node) / 2 } : null;
  };
  /** Scrolls to the place that is to be in the middle. */
  const bring = (): void => {
    const box = view.current;
    if (!box || !centre.current) return;
    box.scrollTo(centre.current.x * scale - box.clientWidth / 2, centre.current.y * scale - box.clientHeight / 2);
    centre.current = null;
  };
  const zoom = (factor: number): void => {
    const box = view.current;
    if (!box) return;
    zoomed.current = true;
    centre.current = { x: (box.scrollLeft + box.clientWidth / 2) / scale, y: (box.scrollTop + box.clientHeight / 2) / scale };
    setScale(Math.min(LARGEST, Math.max(SMALLEST, scale * factor)));
  };
  useEffect(fit, [layout]);
  // a panel that opens beside the graph leaves less room
  useEffect(() => {
    if (!zoomed.current) fit();
  }, [width]);
  useLayoutEffect(bring, [scale]);
  useEffect(() => {
    if (!selected) return;
    centre.current = placeOf(selected);
    if (scale < OUTLINE) setScale(OUTLINE);
    else bring();
  }, [selected]);
  return (
    <div class={scale < OUTLINE ? "graph outline" : scale < COMPACT ? "graph compact" : "graph"}>
      <div
        class="canvas"
        ref={view}
        tabIndex={0}
        role="region"
        aria-label={`Dataflow graph, ${flow.nodes.length} ${flow.nodes.length === 1 ? "stage" : "stages"}`}
        aria-busy={!layout}
        style={layout ? { height: `${Math.ceil(layout.height * scale) + SCROLLBAR + BUTTONS}px` } : {}}
        onWheel={(event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1);
        }}
      >
        {layout && layouts && (
          <div class="extent" style={{ width: `${layout.width * scale}px`, height: `${layout.height * scale}px` }}>
            <div class="scaled" style={{ width: `${layout.width}px`, height: `${layout.height}px`, scale: String(scale) }}>
              <Edges layout={layout} curve={layouts.curve} selected={selected} />
              <ol ref={list} aria-label="Stages: arrow keys move from one to the next" onKeyDown={move}>
                {flow.nodes.map((node) => (
                  <Operator
                    key={node.id}
                    node={node}
                    place={layout.nodes.get(node.id)}
                    width={layouts.NODE_WIDTH}
                    height={layouts.heightOf(node)}
                    slow={node.id === busiest}
                    chosen={node.id === selected}
                    stop={node.id === stop}
                    reach={() => setReached(node.id)}
                    choose={() => select(node.id === selected ? null : node.id)}
                  />
                ))}
              </ol>
            </div>
          </div>
        )}
      </div>
      <p class="legend">
        <span class="busy-mark" aria-hidden="true" /> Busy <span class="pressed-mark" aria-hidden="true" /> Back pressure{" "}
        <span class="muted">largest / median</span>
      </p>
      <div class="zoom" role="group" aria-label="Size of the graph">
        <button type="button" class="icon" aria-label="Smaller" onClick={() => zoom(1 / STEP)}>−</button>
        <button type="button" class="icon" aria-label="Larger" onClick={() => zoom(STEP)}>+</button>
        <button type="button" class="icon wide" onClick={fit}>Fit</button>
      </div>
    </div>
  );
}

function Edges({ layout, curve, selected }: { layout: Layout; curve: Layouts["curve"]; selected: string | null }) {
  return (
    <svg width={layout.width} height={layout.height} aria-hidden="true">
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0.500 8 4 0 7.500z" />
        </marker>
      </defs>
      {layout.edges.map(({ from, to, points }, index) => (
        <path
          key={index}
          class={selected === from || selected === to ? "edge chosen" : "edge"}
          d={curve(points)}
          marker-end="url(#arrow)"
        />
      ))}
      {layout.edges.map(({ ship, label, labelWidth }, index) => ship && (
        <g key={index} class="ship" transform={`translate(${label.x.toFixed(1)} ${label.y.toFixed(1)})`}>
          <rect x={-labelWidth / 2} y={-8} width={labelWidth} height={16} rx={8} />
          <text y={3.5} text-anchor="middle">{ship}</text>
        </g>
      ))}
    </svg>
  );
}

interface OperatorProps {
  node: FlowNode;
  place: { x: number; y: number } | undefined;
  width: number;
  height: number;
  slow: boolean;
  chosen: boolean;
  /** Whether Tab leads to it. */
  stop: boolean;
  /** Called when it has the keyboard. */
  reach: () => void;
  choose: () => void;
}

function Operator({ node, place, width, height, slow, chosen, stop, reach, choose }: OperatorProps) {
  const { vertex } = node;
  const busy = vertex?.["busy-ratio"] ?? null;
  const pressed = vertex?.["back-pressured-ratio"] ?? null;
  const kinds = ["operator", slow && "slow", chosen && "chosen", (busy ?? 0) >= BUSY && "busy", (pressed ?? 0) >= PRESSED && "pressed"];
  return (
    <li style={{ left: `${place?.x ?? 0}px`, top: `${place?.y ?? 0}px`, width: `${width}px`, height: `${height}px` }}>
      <button type="button" class={kinds.filter(Boolean).join(" ")} aria-pressed={chosen} tabIndex={stop ? 0 : -1} onFocus={reach} onClick={choose}>
        <span class="name" title={node.name}>{node.name}</span>
        {node.lines.length > 0 && (
          <span class="lines">{node.lines.map((line) => <span key={line} title={line}>{line}</span>)}</span>
        )}
        <span class="meta">
          <span>×{node.parallelism}</span>
          {slow && <span class="tag">Slowest</span>}
          {isSkewed(vertex) && <span class="tag skew" title="Records of the busiest subtask, compared with the mean">Skew ×{vertex!.skew!.toFixed(1)}</span>}
          {vertex && vertex.status !== "RUNNING" && <span class="tag quiet">{vertex.status.toLowerCase()}</span>}
          <span class="lag"><i>Lag</i> {duration(vertex?.["watermark-lag-ms"])}</span>
        </span>
        <span class="rates">
          {node.source ? <span>Source</span> : <span><i>In</i> {rate(vertex?.["records-in-per-second"])}</span>}
          <span><i>Out</i> {rate(vertex?.["records-out-per-second"])}</span>
        </span>
        <span class="load">
          <LoadBar busy={busy} pressed={pressed} />
          <span><i>Busy</i> {pair(busy, vertex?.["busy-ratio-median"])}</span>
          <span><i>Pressure</i> {pair(pressed, vertex?.["back-pressured-ratio-median"])}</span>
        </span>
      </button>
    </li>
  );
}

/** Shares of time of a subtask: busy and back-pressured, side by side. The rest is idle. */
export function LoadBar({ busy, pressed }: { busy: number | null | undefined; pressed: number | null | undefined }) {
  const first = Math.min(1, busy ?? 0);
  return (
    <span class="bar load-bar" aria-hidden="true">
      <span class="of-busy" style={{ width: `${first * 100}%` }} />
      <span class="of-pressed" style={{ width: `${Math.min(1 - first, pressed ?? 0) * 100}%` }} />
    </span>
  );
}

/** The largest share and the median: `93 / 41 %`. */
function pair(largest: number | null, median: number | null | undefined): string {
  if (largest === null || median === null || median === undefined) return percent(largest);
  return `${Math.round(largest * 100)} / ${percent(median)}`;
}
