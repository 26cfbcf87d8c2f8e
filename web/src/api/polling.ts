/** Data that is asked for again and again while somebody looks. */

import { useEffect, useRef, useState } from "preact/hooks";
import { pauseAfter } from "../model/poll_pause";
import { ask, RequestError } from "./client";

export const EVERY_MS = 2000;

export interface Polled<T> {
  /** The newest answer; undefined: none has come yet. It stays when a later request fails. */
  data: T | undefined;
  /** Why the last request failed; null: it did not. */
  error: RequestError | null;
  /** Asks now, not at the next poll. */
  refresh: () => void;
}

/** Polls `path`, but not while the page is hidden.
 *
 * `path` null: nothing is asked. `everyMs` 0: it is asked once. */
export function usePolled<T>(path: string | null, everyMs: number = EVERY_MS): Polled<T> {
  const [state, setState] = useState<{ path: string | null; data?: T; error: RequestError | null }>({
    path,
    error: null,
  });
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    let timer = 0;
    let failures = 0;
    let running = false;
    let wanted = false;
    const next = (ms: number): void => {
      clearTimeout(timer);
      if (!abort.signal.aborted && !document.hidden && ms > 0) timer = window.setTimeout(run, ms);
    };
    const run = async (): Promise<void> => {
      // the answer that is on its way may be of before whatever somebody wants to see now
      wanted = running;
      if (running) return;
      running = true;
      try {
        const data = await ask<T>(path, { signal: abort.signal });
        failures = 0;
        if (!abort.signal.aborted) setState({ path, data, error: null });
      } catch (error) {
        if (abort.signal.aborted) return;
        failures += 1;
        const failure = error instanceof RequestError ? error : new RequestError(0, String(error));
        setState((old) => ({ ...(old.path === path ? old : { path }), error: failure }));
      } finally {
        running = false;
      }
      if (wanted) return void run();
      next(failures ? pauseAfter(failures, everyMs) : everyMs);
    };
    const onVisible = (): void => {
      clearTimeout(timer);
      if (!document.hidden && everyMs > 0) void run();
    };
    again.current = () => void run();
    document.addEventListener("visibilitychange", onVisible);
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [path, everyMs]);
  const current = state.path === path;
  return {
    data: current ? state.data : undefined,
    error: current ? state.error : null,
    refresh: () => again.current(),
  };
}
