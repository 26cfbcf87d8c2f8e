/** How long to wait before the server is asked again. */

const LONGEST_PAUSE_MS = 30_000;

/** In ms: longer after each failure in a row. */
export function pauseAfter(failures: number, everyMs: number): number {
  return failures === 0 ? everyMs : Math.min(LONGEST_PAUSE_MS, Math.max(everyMs, 1000) * 2 ** failures);
}
