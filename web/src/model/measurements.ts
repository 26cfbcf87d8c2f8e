/** The measurements of a job's last hour. */

import type { HistoryPoint } from "../api/types";

const KEPT_MS = 3_600_000;

/** What was known and what is new, of the last hour, without doubles. */
export function joined(known: HistoryPoint[], fresh: HistoryPoint[]): HistoryPoint[] {
  const last = known.at(-1)?.time ?? -Infinity;
  const all = [...known, ...fresh.filter(({ time }) => time > last)];
  const oldest = (all.at(-1)?.time ?? 0) - KEPT_MS;
  return all.filter(({ time }) => time >= oldest);
}

/** Least span of the axis below a chart, in seconds. */
const LEAST_WIDTH = 60;

/** The ends of the axis below a chart of `times`, in seconds: one measurement has a minute before it, where
 * uPlot would show the day after it. Otherwise `low` and `high`. */
export function spanned(times: ArrayLike<number>, low: number, high: number): [number, number] {
  const only = times.length === 1 ? times[0] : undefined;
  return only === undefined ? [low, high] : [only - LEAST_WIDTH, only];
}
