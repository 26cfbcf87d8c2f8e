/** What differs between two runs: their settings and their stages. */

import type { JobConfig, Vertex } from "../api/types";

export interface SettingDifference {
  name: string;
  left: string | undefined;
  right: string | undefined;
}

/** Settings that only one of two jobs has, or that have another value. */
export function differentSettings(left: JobConfig, right: JobConfig): SettingDifference[] {
  const [a, b] = [settingsOf(left), settingsOf(right)];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return names.filter((name) => a[name] !== b[name]).map((name) => ({ name, left: a[name], right: b[name] }));
}

function settingsOf(config: JobConfig): Record<string, string> {
  const { "user-config": own = {}, ...execution } = config["execution-config"];
  return Object.fromEntries(Object.entries({ ...execution, ...own }).map(([name, value]) => [name, String(value)]));
}

export interface StagePair {
  name: string;
  left: Vertex | undefined;
  right: Vertex | undefined;
}

/** The stages of two graphs, side by side: those with the same uid, else those with the same name. */
export function stagePairs(left: Vertex[], right: Vertex[]): StagePair[] {
  const rest = [...right];
  const take = (fits: (vertex: Vertex) => boolean): Vertex | undefined => {
    const at = rest.findIndex(fits);
    return at < 0 ? undefined : rest.splice(at, 1)[0];
  };
  const pairs: StagePair[] = left.map((vertex) => ({ name: vertex.name, left: vertex, right: take((other) => Boolean(other.uid) && other.uid === vertex.uid) }));
  for (const pair of pairs) pair.right ??= take((other) => other.name === pair.name);
  return [...pairs, ...rest.map((vertex) => ({ name: vertex.name, left: undefined, right: vertex }))];
}

/** `+12 %` or `×3.4`: how a figure has grown; empty if that says nothing. */
export function changeText(before: number | null | undefined, after: number | null | undefined): string {
  if (!before || !after || before < 0 || after < 0) return "";
  const times = after / before;
  if (times >= 2) return `×${times >= 9.95 ? Math.round(times).toLocaleString("en-US") : times.toFixed(1)}`;
  const percent = Math.round((times - 1) * 100);
  return percent === 0 ? "" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)} %`;
}
