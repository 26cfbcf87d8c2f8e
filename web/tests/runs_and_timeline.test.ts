import { expect, test } from "vitest";
import type { JobConfig, TimelineEvent, Vertex } from "../src/api/types";
import { changeText, differentSettings, stagePairs } from "../src/model/runs";
import { lanesOf, ticksOf } from "../src/model/timeline";

const config = (settings: Record<string, string>): JobConfig => ({ jid: "", name: "", "execution-config": { "job-parallelism": 2, "user-config": settings } });
const vertex = (name: string, uid?: string): Vertex => ({ id: name, name, parallelism: 1, status: "RUNNING", ...(uid ? { uid } : {}) });

test("only settings that differ are told", () => {
  const found = differentSettings(config({ a: "1", b: "2" }), config({ a: "1", b: "3", c: "4" }));
  expect(found).toEqual([{ name: "b", left: "2", right: "3" }, { name: "c", left: undefined, right: "4" }]);
});

test("stages are paired by uid, then by name", () => {
  const pairs = stagePairs([vertex("Map", "m"), vertex("Old"), vertex("Sink")], [vertex("Sink"), vertex("Renamed", "m"), vertex("New")]);
  expect(pairs.map(({ left, right }) => [left?.name, right?.name])).toEqual([["Map", "Renamed"], ["Old", undefined], ["Sink", "Sink"], [undefined, "New"]]);
});

const event = (kind: TimelineEvent["kind"], time: number, end: number | null, status: TimelineEvent["status"] = "COMPLETED"): TimelineEvent =>
  ({ kind, time, end, status, title: "", detail: "" });

test("events stand where they happened, and what goes on reaches the end", () => {
  const life = { begin: 1000, end: 2000, events: [event("run", 1000, null, "IN_PROGRESS"), event("failure", 1500, null), event("rescale", 1600, 1700)] };
  const marks = Object.fromEntries(lanesOf(life, 0).map(({ name, marks: all }) => [name, all.map(({ left, width }) => [left, width])]));
  expect(marks).toEqual({ Runs: [[0, 100]], Checkpoints: [], Savepoints: [], Rescalings: [[60, 10]], Failures: [[50, 0]] });
  const late = Object.fromEntries(lanesOf(life, 350).map(({ name, marks: all }) => [name, all.length]));
  expect(late).toEqual({ Runs: 1, Checkpoints: 0, Savepoints: 0, Rescalings: 1, Failures: 0 });
});

test("ticks are round times, and not too many", () => {
  const ticks = ticksOf({ begin: 61_000, end: 61_000 + 3_600_000 }, 0, 6);
  expect(ticks.map(({ time }) => time % 600_000)).toEqual(ticks.map(() => 0));
  expect(ticks.length).toBeLessThanOrEqual(7);
  expect(ticksOf({ begin: 5, end: 5 }, 0, 6).length).toBeLessThanOrEqual(2);
});

test("how a figure has grown is said where it says something", () => {
  expect([changeText(100, 112), changeText(100, 50), changeText(100, 340), changeText(2, 31_000)]).toEqual(["+12 %", "−50 %", "×3.4", "×15,500"]);
  expect([changeText(100, 100.2), changeText(0, 5), changeText(null, 5), changeText(5, undefined)]).toEqual(["", "", "", ""]);
});
