/** Boxes of a flame graph: as wide as a call was frequent, below the call that made it. */

import type { FlameNode } from "../api/types";

export interface FlameBox {
  node: FlameNode;
  /** Names from the root, which tell calls of the same name apart. */
  key: string;
  depth: number;
  /** In percent of the whole width. */
  left: number;
  width: number;
  kind: "own" | "millrace" | "library";
}

/** Boxes that are narrower than this, in percent, are left out. */
const NARROWEST = 0.15;
const LIBRARY = /\((?:<|[a-z_][\w.]*\/|[a-z_]\w*\.py:)/i;

/** The boxes of the calls at and below `focus`; calls above it are as wide as the graph. */
export function boxesOf(root: FlameNode, focus: FlameNode[] = []): FlameBox[] {
  const boxes: FlameBox[] = [];
  const place = (node: FlameNode, key: string, depth: number, left: number, width: number): void => {
    boxes.push({ node, key, depth, left, width, kind: kindOf(node.name) });
    let at = left;
    for (const child of node.children) {
      const share = node.value ? (child.value / node.value) * width : 0;
      if (share >= NARROWEST) place(child, `${key}>${child.name}`, depth + 1, at, share);
      at += share;
    }
  };
  const path = focus.length ? focus : [root];
  let key = "";
  path.forEach((node, depth) => {
    const whole = key ? `${key}>${node.name}` : node.name;
    if (depth === path.length - 1) place(node, whole, depth, 0, 100);
    else boxes.push({ node, key: whole, depth, left: 0, width: 100, kind: kindOf(node.name) });
    key = whole;
  });
  return boxes;
}

/** Nodes from the root to one of them; empty: it is not in the graph. */
export function pathTo(root: FlameNode, node: FlameNode): FlameNode[] {
  if (root === node) return [root];
  for (const child of root.children) {
    const path = pathTo(child, node);
    if (path.length) return [root, ...path];
  }
  return [];
}

/** The box to which an arrow key leads from another: its caller, its widest call, or the next one at its depth. */
export function neighbour(boxes: FlameBox[], from: FlameBox, key: string): FlameBox | undefined {
  // shares are sums of fractions
  const end = from.left + from.width - NARROWEST / 2;
  const level = (depth: number): FlameBox[] => boxes.filter((box) => box.depth === depth).sort((a, b) => a.left - b.left);
  switch (key) {
    case "ArrowUp":
      return level(from.depth - 1).findLast(({ left }) => left < end);
    case "ArrowDown":
      return level(from.depth + 1)
        .filter(({ left }) => left > from.left - NARROWEST / 2 && left < end)
        .reduce<FlameBox | undefined>((widest, box) => (widest && widest.width >= box.width ? widest : box), undefined);
    case "ArrowLeft":
      return level(from.depth).findLast(({ left }) => left < from.left);
    case "ArrowRight":
      return level(from.depth).find(({ left }) => left > from.left);
    case "Home":
      return boxes[0];
    default:
      return undefined;
  }
}

/** Whose code a call is in. Files of libraries are named below the library's directory, own ones in full. */
function kindOf(name: string): FlameBox["kind"] {
  if (name.includes("(millrace/") || name === "root") return "millrace";
  return LIBRARY.test(name.slice(name.lastIndexOf(" ("))) ? "library" : "own";
}
