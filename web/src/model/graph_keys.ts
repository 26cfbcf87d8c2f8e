/** Where arrow keys lead to in a graph. */

import type { Place } from "./layout";

const DIRECTIONS: Record<string, Place> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};
/** How much more a step to the side counts than one ahead. */
const SIDEWAYS = 2;

/** The node that a key leads to from another one: the nearest in its direction, or the first or last one; null: none. */
export function neighbourOf(places: Map<string, Place>, from: string, key: string): string | null {
  if (key === "Home") return [...places.keys()][0] ?? null;
  if (key === "End") return [...places.keys()].at(-1) ?? null;
  const way = DIRECTIONS[key];
  const here = places.get(from);
  if (!way || !here) return null;
  let nearest: string | null = null;
  let least = Infinity;
  for (const [id, { x, y }] of places) {
    const ahead = (x - here.x) * way.x + (y - here.y) * way.y;
    const aside = Math.abs((x - here.x) * way.y) + Math.abs((y - here.y) * way.x);
    const cost = ahead + SIDEWAYS * aside;
    if (ahead > 0 && cost < least) [nearest, least] = [id, cost];
  }
  return nearest;
}
