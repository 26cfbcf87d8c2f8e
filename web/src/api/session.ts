/** The token of this tab, and whether the server can be reached with it. */

import { computed, signal } from "@preact/signals";

const KEY = "millrace.token";

export type Reach = "unknown" | "ok" | "away" | "denied";

/** How the last request went; pages and the header show it. */
export const reach = signal<Reach>("unknown");

/** How far the server's clock is ahead of this one, in ms. */
let ahead = 0;
/** The `Date` of an answer has whole seconds, and the answer took its time. */
const TOLERANCE_MS = 3000;

/** The server's time: ages are by the clock that made the times. */
export const serverNow = (): number => Date.now() + ahead;

export function noteServerTime(date: string | null): void {
  const difference = date === null ? NaN : Date.parse(date) - Date.now();
  if (!Number.isNaN(difference)) ahead = Math.abs(difference) > TOLERANCE_MS ? difference : 0;
}

/** What the token allows; null: the server has not told it yet. */
export const role = signal<"read" | "operate" | null>(null);

/** Why the server has not told it; null: it has, or the answer is on its way. */
export const roleProblem = signal<string | null>(null);

/** Whether the token may change something; the server refuses requests that it does not allow. */
export const mayOperate = computed(() => role.value === "operate");

/** Whether the token is known to be one that only reads. */
export const mayOnlyRead = computed(() => role.value === "read");

export const token = signal<string | null>(sessionStorage.getItem(KEY));

export function remember(value: string | null): void {
  token.value = value;
  role.value = null;
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
}

/** Takes the token out of `#token=...`, so that it stays in no history entry and no bookmark. */
export function takeTokenFromAddress(): void {
  const match = /^#token=([^&]+)(?:&(.*))?$/.exec(location.hash);
  if (!match?.[1]) return;
  remember(decodeURIComponent(match[1]));
  reach.value = "unknown";
  history.replaceState(null, "", `${location.pathname}${location.search}#${match[2] ?? "/"}`);
  // a history entry that is replaced tells nobody
  dispatchEvent(new HashChangeEvent("hashchange"));
}
