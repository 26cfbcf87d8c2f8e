/** The job's log, the end of it first; it can be followed. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, RequestError } from "../../api/client";
import { EVERY_MS } from "../../api/polling";
import type { LogPart } from "../../api/types";
import { bytes } from "../../format/numbers";
import { levelOf, newest } from "../../model/log_text";
import { pauseAfter } from "../../model/poll_pause";
import { Problem } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import type { TabProps } from "../job";

const CHUNK = 65_536;
const KEPT = 500_000;

interface Read {
  text: string;
  offset: number;
  next: number;
  size: number;
}

export function LogTab({ job }: TabProps) {
  return <LogPanel job={job.jid} />;
}

interface LogProps {
  /** Id of the job. */
  job: string;
  title?: string;
  /** Further tools, before those of the log. */
  children?: ComponentChildren;
}

/** The log of a job. */
export function LogPanel({ job, title = "Log", children }: LogProps) {
  const [read, setRead] = useState<Read | null>(null);
  const [follow, setFollow] = useState(true);
  const [sought, setSought] = useState("");
  const [problem, setProblem] = useState("");
  const known = useRef<Read | null>(null);
  const keep = (part: Read): void => setRead((known.current = part));
  useEffect(() => {
    if (!follow && known.current) return;
    const abort = new AbortController();
    let timer = 0;
    let failures = 0;
    const run = async (): Promise<void> => {
      try {
        const old = known.current;
        const part = await ask<LogPart>(`jobs/${job}/log?offset=${old?.next ?? -CHUNK}&limit=${CHUNK}`, { signal: abort.signal });
        failures = 0;
        setProblem("");
        if (!old || part.text) keep(old ? appended(old, part) : { ...part });
        if (part.next < part.size) return void run();
      } catch (error) {
        if (abort.signal.aborted) return;
        failures += 1;
        if (error instanceof RequestError && error.status !== 0) setProblem(error.message);
      }
      if (follow && !abort.signal.aborted) timer = window.setTimeout(() => void (document.hidden ? wait() : run()), pauseAfter(failures, EVERY_MS));
    };
    const wait = (): void => {
      document.addEventListener("visibilitychange", () => void run(), { once: true, signal: abort.signal });
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [job, follow]);
  const earlier = async (): Promise<void> => {
    const old = known.current;
    if (!old) return;
    const from = Math.max(0, old.offset - CHUNK);
    const part = await ask<LogPart>(`jobs/${job}/log?offset=${from}&limit=${old.offset - from}`);
    keep({ ...old, text: part.text + old.text, offset: part.offset });
  };
  const tools = (
    <>
      {children}
      <input
        type="search" class="search" placeholder="Filter lines" aria-label="Show only lines with this text"
        value={sought} onInput={(event) => setSought(event.currentTarget.value)}
      />
      <label class="check">
        <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} />
        Follow
      </label>
    </>
  );
  return (
    <Panel title={title} tools={tools} flush>
      {problem && <Problem>{problem}</Problem>}
      {read && (
        <p class="log-line muted">
          {bytes(read.size)} in all
          {read.offset > 0 && <button type="button" class="link" onClick={() => void earlier()}>Show earlier lines</button>}
        </p>
      )}
      <Lines text={read?.text ?? ""} sought={sought} follow={follow} />
    </Panel>
  );
}

function appended(old: Read, part: LogPart): Read {
  const { text, dropped } = newest(old.text + part.text, KEPT);
  return { text, offset: old.offset + dropped, next: part.next, size: part.size };
}

function Lines({ text, sought, follow }: { text: string; sought: string; follow: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => {
    const all = text.split("\n");
    const wanted = sought.toLowerCase();
    return wanted ? all.filter((line) => line.toLowerCase().includes(wanted)) : all;
  }, [text, sought]);
  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, follow]);
  return (
    // role log would have screen readers speak each line
    <div class="log" ref={box} tabIndex={0} role="region" aria-label="Lines of the log">
      {lines.map((line, index) => (
        <div key={index} class={levelOf(line)}>{line || " "}</div>
      ))}
    </div>
  );
}
