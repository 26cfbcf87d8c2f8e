/** The dataflow of a job: what flows where, how busy each operator is, and which one holds up the rest. */

import type { JobDetails, PlanOperator, Vertex } from "../api/types";
import { linesOf } from "./operators";

export interface FlowNode {
  id: string;
  name: string;
  parallelism: number;
  /** Whether nothing flows into it. */
  source: boolean;
  vertex: Vertex | undefined;
  operators: PlanOperator[];
  /** What the operators do, in a few lines. */
  lines: string[];
}

export interface FlowEdge {
  from: string;
  to: string;
  /** How records are sent (`HASH`, `FORWARD`, ...); empty: not known. */
  ship: string;
}

export interface Dataflow {
  /** Sources first: each node stands after all it reads from, loops apart. */
  nodes: FlowNode[];
  edges: FlowEdge[];
}

/** From here on an operator is called busy. */
export const BUSY = 0.8;
/** From here on an operator is called back-pressured, as by Flink. */
export const PRESSED = 0.5;
/** From here on the busiest subtask has too much to do, compared with the mean. */
export const SKEWED = 1.75;

export function dataflowOf(job: Pick<JobDetails, "plan" | "vertices">): Dataflow {
  const vertices = new Map(job.vertices.map((vertex) => [vertex.id, vertex]));
  const plan = job.plan?.nodes ?? [];
  const known = new Set(plan.map((node) => node.id));
  const edges = plan.flatMap((node) =>
    (node.inputs ?? [])
      .filter((input) => known.has(input.id))
      .map((input) => ({ from: input.id, to: node.id, ship: input.ship_strategy ?? "" })),
  );
  const nodes = plan.map((node) => {
    const vertex = vertices.get(node.id);
    const name = vertex?.name ?? plain(node.description) ?? node.id;
    const operators = node.operators ?? [];
    return {
      id: node.id, name, parallelism: node.parallelism, source: !node.inputs?.length, vertex, operators, lines: linesOf(operators),
    };
  });
  return { nodes: inOrder(nodes, edges), edges };
}

/** A key that changes only when the graph must be laid out anew. */
export function shapeOf({ nodes, edges }: Dataflow): string {
  return [...nodes.map((n) => n.id), ...edges.map((e) => `${e.from}>${e.to}`)].join(" ");
}

/** Whether one subtask has much more records than the others. */
export const isSkewed = (vertex: Vertex | undefined): boolean => (vertex?.skew ?? 1) >= SKEWED;

/** The operator that holds up the others: the busiest one, if it is busy at all. */
export function slowest(flow: Dataflow): string | null {
  const node = busiest(flow);
  return node && busyOf(node) >= BUSY ? node.id : null;
}

/** The operator that works for the largest share of its time; null: none works. */
export function busiest({ nodes }: Dataflow): FlowNode | null {
  return nodes.reduce<FlowNode | null>((most, node) => (busyOf(node) > (most ? busyOf(most) : 0) ? node : most), null);
}

const busyOf = ({ vertex }: FlowNode): number => vertex?.["busy-ratio"] ?? 0;

/** Flink's plans have descriptions in HTML: line breaks and escapes. */
function plain(description: string | undefined): string | undefined {
  return description?.replace(/<br\/?>/g, " ").replace(/&gt;/g, ">").replace(/&lt;/g, "<").replace(/&amp;/g, "&").trim();
}

function inOrder(nodes: FlowNode[], edges: FlowEdge[]): FlowNode[] {
  const inputs = new Map<string, FlowEdge[]>();
  for (const edge of edges) inputs.set(edge.to, [...(inputs.get(edge.to) ?? []), edge]);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const ordered: FlowNode[] = [];
  const seen = new Set<string>();
  const visit = (node: FlowNode): void => {
    if (seen.has(node.id)) return;
    seen.add(node.id);
    for (const edge of inputs.get(node.id) ?? []) visit(byId.get(edge.from)!);
    ordered.push(node);
  };
  nodes.forEach(visit);
  return ordered;
}
