import { expect, test } from "vitest";
import type { JobDetails } from "../src/api/types";
import { dataflowOf, shapeOf, slowest } from "../src/model/dataflow";
import { curve, layoutOf, NODE_HEIGHT, NODE_WIDTH } from "../src/model/layout";

const vertex = (id: string, busy: number | null) => ({ id, name: id.toUpperCase(), parallelism: 2, status: "RUNNING", "busy-ratio": busy });
const node = (id: string, ...inputs: string[]) => ({
  id, parallelism: 2, description: `${id} -&gt; <br/>`, inputs: inputs.map((input, num) => ({ num, id: input, ship_strategy: "HASH" })),
});
const job = (busy: Record<string, number | null>, nodes: ReturnType<typeof node>[]): JobDetails =>
  ({ vertices: Object.entries(busy).map(([id, share]) => vertex(id, share)), plan: { nodes } }) as unknown as JobDetails;

test("sources come first, whatever the order of the plan", () => {
  const flow = dataflowOf(job({}, [node("c", "b"), node("b", "a"), node("a")]));
  expect(flow.nodes.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(flow.nodes.map(({ source }) => source)).toEqual([true, false, false]);
  expect(flow.nodes[0]?.name).toBe("a ->");
});

test("a loop and an input that is not in the plan do no harm", () => {
  const flow = dataflowOf(job({}, [node("a", "b", "gone"), node("b", "a")]));
  expect(flow.nodes).toHaveLength(2);
  expect(flow.edges.map(({ from, to }) => `${from}${to}`)).toEqual(["ba", "ab"]);
  expect(layoutOf(flow, "LR").nodes.size).toBe(2);
});

test("the slowest is the busiest, if it is busy at all", () => {
  const nodes = [node("a"), node("b", "a"), node("c", "b")];
  expect(slowest(dataflowOf(job({ a: 0.85, b: 0.93, c: null }, nodes)))).toBe("b");
  expect(slowest(dataflowOf(job({ a: 0.2, b: 0.79 }, nodes)))).toBeNull();
});

test("figures that change do not change the shape", () => {
  const nodes = [node("a"), node("b", "a")];
  expect(shapeOf(dataflowOf(job({ a: 0.1 }, nodes)))).toBe(shapeOf(dataflowOf(job({ a: 0.9 }, nodes))));
});

test.each(["LR", "TB"] as const)("no operator covers another one: %s", (direction) => {
  const names = Array.from({ length: 60 }, (_, index) => `n${index}`);
  const nodes = names.map((name, index) => node(name, ...(index < 10 ? [] : [`n${index - 10}`, `n${(index * 7) % 10}`])));
  const layout = layoutOf(dataflowOf(job({}, nodes)), direction);
  const places = [...layout.nodes.values()];
  const outside = places.filter(({ x, y }) => x < 0 || y < 0 || x + NODE_WIDTH > layout.width || y + NODE_HEIGHT > layout.height);
  const covered = places.filter((a) =>
    places.some((b) => a !== b && Math.abs(a.x - b.x) < NODE_WIDTH && Math.abs(a.y - b.y) < NODE_HEIGHT),
  );
  expect([places.length, outside, covered]).toEqual([60, [], []]);
}, 60_000);

test("a line begins and ends where it should", () => {
  expect(curve([{ x: 0, y: 0 }, { x: 5, y: 5 }])).toBe("M0.0 0.0L5.0 5.0");
  expect(curve([{ x: 0, y: 0 }, { x: 4, y: 0 }, { x: 8, y: 8 }])).toBe("M0.0 0.0Q4.0 0.0 8.0 8.0");
  expect(curve([])).toBe("");
});
