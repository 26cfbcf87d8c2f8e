/** Which page the address means. The part after `#` is used, so that the server needs to know no page. */

import { signal } from "@preact/signals";

export interface Route {
  /** The path's parts: `["jobs", ID, "checkpoints"]`. */
  path: string[];
  query: URLSearchParams;
}

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

/** The address of a page. */
export function to(path: (string | number)[], query: Record<string, string> = {}): string {
  const asked = new URLSearchParams(query).toString();
  return `#/${path.map((part) => encodeURIComponent(part)).join("/")}${asked ? `?${asked}` : ""}`;
}

export function go(path: (string | number)[], query: Record<string, string> = {}): void {
  location.hash = to(path, query);
}
