import { expect, test } from "vitest";
import { neighbourOf } from "../src/model/graph_keys";

/** Two sources, a join of them, and a sink. */
const PLACES = new Map([
  ["orders", { x: 0, y: 0 }],
  ["rates", { x: 0, y: 150 }],
  ["join", { x: 300, y: 80 }],
  ["sink", { x: 600, y: 80 }],
]);

test.each([
  ["orders", "ArrowRight", "join"],
  ["orders", "ArrowDown", "rates"],
  ["rates", "ArrowUp", "orders"],
  ["sink", "ArrowLeft", "join"],
  ["join", "ArrowLeft", "rates"],
  ["join", "Home", "orders"],
  ["join", "End", "sink"],
  ["sink", "ArrowRight", null],
  ["join", "Enter", null],
  ["gone", "ArrowLeft", null],
])("from %s, %s leads to %s", (from, key, to) => {
  expect(neighbourOf(PLACES, from, key)).toBe(to);
});

test("every node of a line is reached", () => {
  const line = new Map(Array.from({ length: 100 }, (_, n) => [String(n), { x: 300 * n, y: n % 2 ? 5 : 0 }]));
  let at = "0";
  for (let steps = 0; steps < 99; steps += 1) at = neighbourOf(line, at, "ArrowRight") ?? at;
  expect(at).toBe("99");
});
