/** What the operators of a stage do, taken from the descriptions that the planner gives them. */

import type { PlanOperator } from "../api/types";

export interface Described {
  uid: string;
  /** Name of the operator, or the kind of operator that its description begins with. */
  kind: string;
  /** Names and values: `["groupBy", "product"]`. */
  attributes: [string, string][];
}

/** Lines that a box of the graph has room for. */
const MOST_LINES = 3;
/** What says most about an operator comes first. */
const TELLING = ["groupBy", "partitionBy", "key", "joinType", "window", "where", "lookup", "table", "pattern", "orderBy", "over"];

/** Takes `GroupAggregate(groupBy=[product], select=[SUM(amount)])` apart. Another text is only a kind. */
export function described({ uid, name, description }: PlanOperator): Described {
  const match = /^(\w+)\((.*)\)$/s.exec(description);
  const attributes = match ? attributesOf(match[2] ?? "") : [];
  return attributes.length ? { uid, kind: match?.[1] ?? name, attributes } : { uid, kind: description || name, attributes: [] };
}

/** `a=[1], b=[f(x)[2]]`; empty if the text has another form. */
function attributesOf(text: string): [string, string][] {
  const found: [string, string][] = [];
  const start = /(?:^|,\s*)(\w[\w ]*)=\[/y;
  let at = 0;
  while (at < text.length) {
    start.lastIndex = at;
    const match = start.exec(text);
    if (!match) return [];
    const from = start.lastIndex;
    const end = closing(text, from);
    if (end < 0) return [];
    found.push([match[1]!, text.slice(from, end)]);
    at = end + 1;
  }
  return found.filter(([, value]) => value !== "");
}

/** Where the bracket closes that was opened before `from`; -1: nowhere. Brackets in quotes do not count. */
function closing(text: string, from: number): number {
  let depth = 1;
  let quoted = false;
  for (let at = from; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === "'") quoted = !quoted;
    else if (!quoted && letter === "[") depth += 1;
    else if (!quoted && letter === "]" && (depth -= 1) === 0) return at;
  }
  return -1;
}

/** The attributes, the most telling ones first. */
export function telling({ attributes }: Described): [string, string][] {
  const rank = ([name]: [string, string]): number => (TELLING.includes(name) ? TELLING.indexOf(name) : TELLING.length);
  return [...attributes].sort((a, b) => rank(a) - rank(b));
}

/** A few lines that say what a stage does: one operator with its attributes, or each operator in one line. */
export function linesOf(operators: PlanOperator[]): string[] {
  const known = operators.map(described).filter(({ attributes }) => attributes.length);
  const [only] = known;
  if (!only) return [];
  if (known.length === 1) return telling(only).slice(0, MOST_LINES).map(([name, value]) => `${name} ${value}`);
  const lines = known.map((each) => `${each.kind}: ${telling(each).map(([name, value]) => `${name} ${value}`).join(", ")}`);
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES - 1), `and ${lines.length - MOST_LINES + 1} more operators`];
}
