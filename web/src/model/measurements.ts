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
