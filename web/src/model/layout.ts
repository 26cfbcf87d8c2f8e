/** Places of the nodes and edges of a dataflow. Loaded when a graph is shown, not before. */

import { Graph, layout } from "@dagrejs/dagre";
import type { Dataflow } from "./dataflow";

export const NODE_WIDTH = 232;
export const NODE_HEIGHT = 118;
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
  edges: { from: string; to: string; points: Place[] }[];
}

/** `LR`: from left to right, for wide windows; `TB`: from top to bottom. */
export function layoutOf(flow: Dataflow, direction: "LR" | "TB"): Layout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 24, ranksep: 56, edgesep: 12, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of flow.nodes) graph.setNode(node.id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  flow.edges.forEach((edge, index) => graph.setEdge(edge.from, edge.to, {}, String(index)));
  layout(graph);
  const nodes = new Map(
    flow.nodes.map(({ id }) => {
      const { x, y } = graph.node(id) as Place;
      return [id, { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 }];
    }),
  );
  const edges = flow.edges.map(({ from, to }, index) => {
    const { points } = graph.edge(from, to, String(index)) as { points: Place[] };
    return { from, to, points };
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
