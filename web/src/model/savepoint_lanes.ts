/** The tree of savepoints as rows with lanes, the newest first. */

import type { SavepointRow } from "../api/types";

export interface LaneRow {
  savepoint: SavepointRow;
  lane: number;
  /** Lanes of lines that come in from the row above and go out to the row below. */
  lines: { from: number; to: number; half: "upper" | "lower" }[];
  /** Whether its parent is not there any more. */
  orphan: boolean;
}

export interface Lanes {
  rows: LaneRow[];
  width: number;
}

/** Give each savepoint a lane: a child keeps its parent's, a branch gets one of its own. */
export function lanesOf(savepoints: SavepointRow[]): Lanes {
  const ordered = newestFirst(savepoints);
  const known = new Set(ordered.map((row) => row.id));
  /** Which id the line in each lane leads down to. */
  let lanes: (string | null)[] = [];
  let width = 1;
  const rows = ordered.map((savepoint) => {
    const before = lanes;
    let lane = before.indexOf(savepoint.id);
    if (lane < 0) lane = free(before);
    const parent = savepoint.parent && known.has(savepoint.parent) ? savepoint.parent : null;
    const after: (string | null)[] = before.map((id) => (id === savepoint.id ? null : id));
    after[lane] = parent;
    const lines: LaneRow["lines"] = [];
    before.forEach((id, from) => {
      if (id === null || id === undefined) return;
      if (id === savepoint.id) lines.push({ from, to: lane, half: "upper" });
      else lines.push({ from, to: from, half: "upper" }, { from, to: from, half: "lower" });
    });
    if (parent) lines.push({ from: lane, to: lane, half: "lower" });
    lanes = trimmed(Array.from(after, (id) => id ?? null));
    width = Math.max(width, before.length, lane + 1);
    return { savepoint, lane, lines, orphan: Boolean(savepoint.parent) && !parent };
  });
  return { rows, width };
}

/** Newest first, but none before its children, whatever the clocks said. */
function newestFirst(savepoints: SavepointRow[]): SavepointRow[] {
  const rest = new Map(savepoints.map((row) => [row.id, row]));
  const children = new Map<string, number>();
  for (const { parent } of rest.values()) if (parent) children.set(parent, (children.get(parent) ?? 0) + 1);
  const ordered: SavepointRow[] = [];
  while (rest.size) {
    const all = [...rest.values()];
    const ready = all.filter((row) => !children.get(row.id));
    // a ring, which only a savepoint that was tampered with makes, is opened at its newest
    const next = (ready.length ? ready : all).reduce((a, b) => (b.time > a.time ? b : a));
    rest.delete(next.id);
    if (next.parent) children.set(next.parent, (children.get(next.parent) ?? 1) - 1);
    ordered.push(next);
  }
  return ordered;
}

function free(lanes: (string | null)[]): number {
  const found = lanes.indexOf(null);
  return found < 0 ? lanes.length : found;
}

function trimmed(lanes: (string | null)[]): (string | null)[] {
  const last = lanes.findLastIndex((id) => id !== null);
  return lanes.slice(0, last + 1);
}
