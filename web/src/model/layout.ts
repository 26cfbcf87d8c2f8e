/** Places of the nodes and edges of a dataflow. Loaded when a graph is shown, not before. */

import { Graph, layout } from "@dagrejs/dagre";
import type { Dataflow, FlowNode } from "./dataflow";

export const NODE_WIDTH = 252;
/** Of a node without lines. */
export const NODE_HEIGHT = 122;
const LINE_HEIGHT = 17;
const MARGIN = 20;

export interface Place {
  x: number;
  y: number;
}

export interface Layout {
  width: number;
  height: number;
  /** Upper left corners, by the node's id. */
  nodes: Map<string, Place>;
  /** In the order of the dataflow's edges. */
  edges: { from: string; to: string; points: Place[]; ship: string; label: Place; labelWidth: number }[];
}

/** Height of a node: each line that says what it does needs room. */
export const heightOf = (node: Pick<FlowNode, "lines">): number =>
  NODE_HEIGHT + (node.lines.length ? node.lines.length * LINE_HEIGHT + 4 : 0);

/** Flink's names of exchanges, in small letters. */
export const shipWord = (ship: string): string => ship.toLowerCase();
const LABEL_HEIGHT = 16;
const labelWidth = (ship: string): number => (ship ? ship.length * 6.4 + 12 : 0);

/** `LR`: from left to right, for wide windows; `TB`: from top to bottom. */
export function layoutOf(flow: Dataflow, direction: "LR" | "TB"): Layout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 24, ranksep: 44, edgesep: 12, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  const heights = new Map(flow.nodes.map((node) => [node.id, heightOf(node)]));
  for (const { id } of flow.nodes) graph.setNode(id, { width: NODE_WIDTH, height: heights.get(id)! });
  flow.edges.forEach((edge, index) => {
    const label = { width: labelWidth(edge.ship), height: edge.ship ? LABEL_HEIGHT : 0, labelpos: "c" };
    graph.setEdge(edge.from, edge.to, label, String(index));
  });
  layout(graph);
  const nodes = new Map(
    flow.nodes.map(({ id }) => {
      const { x, y } = graph.node(id) as Place;
      return [id, { x: x - NODE_WIDTH / 2, y: y - heights.get(id)! / 2 }];
    }),
  );
  const edges = flow.edges.map(({ from, to, ship }, index) => {
    const { points, x, y } = graph.edge(from, to, String(index)) as { points: Place[]; x?: number; y?: number };
    const middle = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 };
    return { from, to, points, ship: shipWord(ship), label: { x: x ?? middle.x, y: y ?? middle.y }, labelWidth: labelWidth(ship) };
  });
  const { width, height } = graph.graph() as { width: number; height: number };
  return { width, height, nodes, edges };
}

/** An SVG path that runs smoothly through the points. */
export function curve(points: Place[]): string {
  const [first, ...rest] = points;
  if (!first || !rest.length) return "";
  let path = `M${at(first)}`;
  rest.forEach((point, index) => {
    const next = rest[index + 1];
    // quadratic curves from middle to middle, the points in between pull at them
    if (next && index < rest.length - 1) path += `Q${at(point)} ${at(index === rest.length - 2 ? next : middle(point, next))}`;
    else if (rest.length === 1) path += `L${at(point)}`;
  });
  return path;
}

const at = ({ x, y }: Place): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
const middle = (a: Place, b: Place): Place => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
