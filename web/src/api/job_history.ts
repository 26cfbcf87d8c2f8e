/** The measurements of a job's last hour; only what is new is asked for. */

import { useEffect, useState } from "preact/hooks";
import { ask } from "./client";
import { joined } from "../model/measurements";
import { pauseAfter } from "../model/poll_pause";
import { EVERY_MS } from "./polling";
import type { HistoryPoint } from "./types";

export function useHistory(job: string, over: boolean): HistoryPoint[] {
  const [points, setPoints] = useState<HistoryPoint[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    let failures = 0;
    let known: HistoryPoint[] = [];
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      if (document.hidden) return;
      try {
        const since = known.length ? known.at(-1)!.time + 1 : 0;
        const { series } = await ask<{ series: HistoryPoint[] }>(`jobs/${job}/history?since=${since}`, { signal: abort.signal });
        failures = 0;
        if (series.length) {
          known = joined(known, series);
          setPoints(known);
        }
      } catch {
        // other requests of the page tell what is wrong
        failures += 1;
      }
      if (!abort.signal.aborted && !over) timer = window.setTimeout(() => void run(), pauseAfter(failures, EVERY_MS));
    };
    const onVisible = (): void => void run();
    document.addEventListener("visibilitychange", onVisible);
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [job, over]);
  return points;
}
