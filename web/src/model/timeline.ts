/** Where the events of a job's life stand on a line from its beginning to its end. */

import type { Timeline, TimelineEvent } from "../api/types";

export interface Mark {
  event: TimelineEvent;
  /** In percent of the span. */
  left: number;
  /** In percent; 0: a moment. */
  width: number;
}

export interface Lane {
  name: string;
  marks: Mark[];
}

export interface Tick {
  left: number;
  time: number;
}

const LANES: { name: string; kinds: TimelineEvent["kind"][] }[] = [
  { name: "Runs", kinds: ["run", "restore"] },
  { name: "Checkpoints", kinds: ["checkpoint"] },
  { name: "Savepoints", kinds: ["savepoint"] },
  { name: "Rescalings", kinds: ["rescale"] },
  { name: "Failures", kinds: ["failure"] },
];
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS = [1, 2, 5, 10, 15, 30].flatMap((step) => [step * SECOND, step * MINUTE]).concat([1, 2, 3, 6, 12, 24, 48, 168, 720].map((step) => step * HOUR));

/** The lanes of the last `span` ms, or of the whole life if `span` is 0. A run that began earlier is cut. */
export function lanesOf({ begin, end, events }: Timeline, span: number): Lane[] {
  const from = span ? Math.max(begin, end - span) : begin;
  const whole = Math.max(1, end - from);
  const at = (time: number): number => (Math.min(Math.max(time - from, 0), whole) / whole) * 100;
  return LANES.map(({ name, kinds }) => ({
    name,
    marks: events
      .filter((event) => kinds.includes(event.kind) && endOf(event, end) >= from && event.time <= end)
      .map((event) => ({ event, left: at(event.time), width: at(endOf(event, end)) - at(event.time) })),
  }));
}

function endOf({ time, end, status }: TimelineEvent, now: number): number {
  return end ?? (status === "IN_PROGRESS" ? now : time);
}

/** Round times, at most `most` of them. */
export function ticksOf({ begin, end }: Pick<Timeline, "begin" | "end">, span: number, most: number): Tick[] {
  const from = span ? Math.max(begin, end - span) : begin;
  const whole = Math.max(1, end - from);
  const step = [...STEPS].sort((a, b) => a - b).find((size) => whole / size <= most) ?? whole;
  const ticks: Tick[] = [];
  for (let time = Math.ceil(from / step) * step; time <= end; time += step) ticks.push({ time, left: ((time - from) / whole) * 100 });
  return ticks;
}
