import { expect, test } from "vitest";
import { boxesOf, neighbour, pathTo } from "../src/model/flame";

const leaf = (name: string, value: number) => ({ name, value, children: [] });
const score = { name: "score (/srv/jobs/fraud.py:57)", value: 60, children: [leaf("loads (json/__init__.py:346)", 15)] };
const root = { name: "root", value: 100, children: [{ name: "process (millrace/runtime/map.py:4)", value: 80, children: [score] }, leaf("select (selectors.py:468)", 20)] };

test("a call is as wide as its share, and begins where its neighbour ends", () => {
  const boxes = boxesOf(root).map(({ node, depth, left, width }) => [node.name.split(" ")[0], depth, left, width]);
  expect(boxes).toEqual([["root", 0, 0, 100], ["process", 1, 0, 80], ["score", 2, 0, 60], ["loads", 3, 0, 15], ["select", 1, 80, 20]]);
});

test("own code, the package and libraries are told apart", () => {
  expect(boxesOf(root).map(({ kind }) => kind)).toEqual(["millrace", "millrace", "own", "library", "library"]);
});

test("a call in focus is as wide as the graph, and so are those above it", () => {
  const boxes = boxesOf(root, pathTo(root, score));
  expect(boxes.map(({ node, width }) => [node.name.split(" ")[0], width])).toEqual([["root", 100], ["process", 100], ["score", 100], ["loads", 25]]);
  expect(pathTo(root, leaf("gone", 1))).toEqual([]);
});

test("very rare calls are left out", () => {
  const many = { name: "root", value: 10_000, children: [leaf("a", 9_999), leaf("b", 1)] };
  expect(boxesOf(many).map(({ node }) => node.name)).toEqual(["root", "a"]);
});

test("arrow keys lead to the caller, to the widest call, and to what stands beside", () => {
  const boxes = boxesOf(root);
  const from = (name: string, key: string): string | undefined =>
    neighbour(boxes, boxes.find(({ node }) => node.name.startsWith(name))!, key)?.node.name.split(" ")[0];
  expect(from("root", "ArrowDown")).toBe("process");
  expect(from("process", "ArrowRight")).toBe("select");
  expect(from("select", "ArrowLeft")).toBe("process");
  expect(from("loads", "ArrowUp")).toBe("score");
  expect(from("select", "ArrowUp")).toBe("root");
  expect(from("loads", "Home")).toBe("root");
  expect([from("select", "ArrowDown"), from("root", "ArrowUp"), from("process", "ArrowLeft"), from("root", "Tab")]).toEqual([undefined, undefined, undefined, undefined]);
});
