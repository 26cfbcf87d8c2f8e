import { expect, test } from "vitest";
import type { SavepointRow } from "../src/api/types";
import { lanesOf } from "../src/model/savepoint_lanes";

const row = (id: string, parent: string | null, time: number): SavepointRow => ({ id, parent, time, path: `/${id}`, kind: "savepoint" });
const lanes = (...rows: SavepointRow[]) => lanesOf(rows).rows.map(({ savepoint, lane }) => `${savepoint.id}${lane}`);

test("a line of savepoints has one lane, the newest on top", () => {
  expect(lanes(row("a", null, 1), row("b", "a", 2), row("c", "b", 3))).toEqual(["c0", "b0", "a0"]);
});

test("a branch has a lane of its own, which ends at its parent", () => {
  const tree = lanesOf([row("a", null, 1), row("b", "a", 2), row("x", "a", 3), row("c", "b", 4)]);
  expect(tree.rows.map(({ savepoint, lane }) => `${savepoint.id}${lane}`)).toEqual(["c0", "x1", "b0", "a0"]);
  expect(tree.width).toBe(2);
  expect(tree.rows.at(-1)?.lines).toEqual([
    { from: 0, to: 0, half: "upper" },
    { from: 1, to: 0, half: "upper" },
  ]);
});

test("a beginning between others does not cut their lines", () => {
  const [top, other] = lanesOf([row("a", null, 1), row("alone", null, 2), row("b", "a", 3)]).rows;
  expect(top?.savepoint.id).toBe("b");
  expect(other?.lines).toEqual([
    { from: 0, to: 0, half: "upper" },
    { from: 0, to: 0, half: "lower" },
  ]);
});

test("a parent that is gone is told of", () => {
  expect(lanesOf([row("a", "gone", 1)]).rows[0]).toMatchObject({ orphan: true, lines: [] });
});

test("children stand above their parents, whatever the clocks said", () => {
  expect(lanes(row("child", "parent", 1), row("parent", null, 9))).toEqual(["child0", "parent0"]);
});

test("a ring ends", () => {
  expect(lanes(row("a", "b", 1), row("b", "a", 2))).toHaveLength(2);
});
