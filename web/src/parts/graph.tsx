/** The dataflow graph of a job: stages as buttons with live figures, and the lines between them. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { percent, rate } from "../format/numbers";
import { duration } from "../format/times";
import { type Dataflow, type FlowNode, BUSY, shapeOf, slowest } from "../model/dataflow";
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
/** Below this width, in pixels, the graph runs from top to bottom. */
const NARROW = 700;

export function Graph({ flow, selected, select }: Props) {
  const view = useRef<HTMLDivElement>(null);
  const [layouts, setLayouts] = useState<Layouts | null>(null);
  const [narrow, setNarrow] = useState(innerWidth < NARROW);
  const [scale, setScale] = useState(1);
  useEffect(() => void import("../model/layout").then(setLayouts), []);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setNarrow((entry?.contentRect.width ?? 0) < NARROW));
    if (view.current) watcher.observe(view.current);
    return () => watcher.disconnect();
  }, []);
  const shape = shapeOf(flow);
  const layout = useMemo(() => layouts?.layoutOf(flow, narrow ? "TB" : "LR"), [layouts, shape, narrow]);
  const busiest = slowest(flow);
  /** What comes into the middle of the window, in the layout's own measure. */
  const centre = useRef<Place | null>(null);
  const fit = (): void => {
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
    return corner && layouts ? { x: corner.x + layouts.NODE_WIDTH / 2, y: corner.y + layouts.NODE_HEIGHT / 2 } : null;
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
    centre.current = { x: (box.scrollLeft + box.clientWidth / 2) / scale, y: (box.scrollTop + box.clientHeight / 2) / scale };
    setScale(Math.min(LARGEST, Math.max(SMALLEST, scale * factor)));
  };
  useEffect(fit, [layout]);
  useLayoutEffect(bring, [scale]);
  useEffect(() => {
    if (!selected) return;
    centre.current = placeOf(selected);
    if (scale < OUTLINE) setScale(OUTLINE);
    else bring();
  }, [selected]);
  return (
    <div class={scale < OUTLINE ? "graph outline" : "graph"}>
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
              <ol>
                {flow.nodes.map((node) => (
                  <Operator
                    key={node.id}
                    node={node}
                    place={layout.nodes.get(node.id)}
                    size={layouts}
                    slow={node.id === busiest}
                    chosen={node.id === selected}
                    choose={() => select(node.id === selected ? null : node.id)}
                  />
                ))}
              </ol>
            </div>
          </div>
        )}
      </div>
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
    </svg>
  );
}

interface OperatorProps {
  node: FlowNode;
  place: { x: number; y: number } | undefined;
  size: { NODE_WIDTH: number; NODE_HEIGHT: number };
  slow: boolean;
  chosen: boolean;
  choose: () => void;
}

function Operator({ node, place, size, slow, chosen, choose }: OperatorProps) {
  const { vertex } = node;
  const busy = vertex?.["busy-ratio"] ?? null;
  const kind = `operator${slow ? " slow" : ""}${chosen ? " chosen" : ""}${(busy ?? 0) >= BUSY ? " busy" : ""}`;
  return (
    <li style={{ left: `${place?.x ?? 0}px`, top: `${place?.y ?? 0}px`, width: `${size.NODE_WIDTH}px`, height: `${size.NODE_HEIGHT}px` }}>
      <button type="button" class={kind} aria-pressed={chosen} onClick={choose}>
        <span class="name" title={node.name}>{node.name}</span>
        <span class="meta">
          <span>×{node.parallelism}</span>
          {slow && <span class="tag">Slowest</span>}
          {vertex && vertex.status !== "RUNNING" && <span class="tag quiet">{vertex.status.toLowerCase()}</span>}
        </span>
        <span class="rates">
          {node.source ? <span>Source</span> : <span><i>In</i> {rate(vertex?.["records-in-per-second"])}</span>}
          <span><i>Out</i> {rate(vertex?.["records-out-per-second"])}</span>
        </span>
        <span class="load">
          <span class="bar" aria-hidden="true"><span style={{ width: `${Math.min(1, busy ?? 0) * 100}%` }} /></span>
          <span><i>Busy</i> {percent(busy)}</span>
          <span><i>Lag</i> {duration(vertex?.["watermark-lag-ms"])}</span>
        </span>
      </button>
    </li>
  );
}
