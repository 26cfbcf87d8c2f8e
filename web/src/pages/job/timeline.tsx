/** The life of a job: its runs, checkpoints, savepoints, rescalings and failures, on one line and as a list. */

import { useMemo, useState } from "preact/hooks";
import { usePolled } from "../../api/polling";
import type { Timeline, TimelineEvent } from "../../api/types";
import { clock, duration, moment } from "../../format/times";
import { lanesOf, type Mark, ticksOf } from "../../model/timeline";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Status } from "../../parts/status";
import { Table } from "../../parts/table";
import type { TabProps } from "../job";

const SPANS = [
  { title: "All", span: 0 },
  { title: "1 h", span: 3_600_000 },
  { title: "10 m", span: 600_000 },
];
const MOST_TICKS = 6;
/** Percent of the line from which on a run has room for its name. */
const WIDE_ENOUGH = 14;

export function TimelineTab({ job }: TabProps) {
  const timeline = usePolled<Timeline>(`jobs/${job.jid}/timeline`);
  const [span, setSpan] = useState(0);
  const spans = (
    <div class="segments" role="group" aria-label="Time span">
      {SPANS.map((each) => (
        <button key={each.title} type="button" aria-pressed={each.span === span} onClick={() => setSpan(each.span)}>{each.title}</button>
      ))}
    </div>
  );
  return (
    <>
      <Panel title="Timeline" tools={spans}>
        <Loaded of={timeline}>{(data) => <Lanes data={data} span={span} />}</Loaded>
      </Panel>
      {timeline.data && (
        <Panel title="Events" tools={<Download name={job.name} content={timeline.data} />} flush>
          <Events events={timeline.data.events} now={job.now} />
        </Panel>
      )}
    </>
  );
}

/** A link that saves what the page knows, to keep it or to send it to somebody. */
function Download({ name, content }: { name: string; content: Timeline }) {
  const save = (event: MouseEvent): void => {
    const link = event.currentTarget as HTMLAnchorElement;
    const url = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" }));
    link.href = url;
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return <a class="button" href="#" download={`${name.replace(/[^\w.-]+/g, "-")}-timeline.json`} onClick={save}>Download as JSON</a>;
}

function Lanes({ data, span }: { data: Timeline; span: number }) {
  const lanes = useMemo(() => lanesOf(data, span), [data, span]);
  const ticks = useMemo(() => ticksOf(data, span, MOST_TICKS), [data, span]);
  return (
    <div class="timeline" role="img" aria-label={lanes.map(({ name, marks }) => `${name}: ${marks.length}`).join(", ")}>
      {lanes.map(({ name, marks }) => (
        <div key={name} class="lane">
          <span class="lane-name">{name}</span>
          <div class="marks">
            {ticks.map(({ left }) => <i key={left} class="tick" style={{ left: `${left}%` }} />)}
            {marks.map((mark, index) => <OneMark key={index} mark={mark} />)}
          </div>
        </div>
      ))}
      <div class="lane axis">
        <span class="lane-name" />
        <div class="marks">
          {ticks.map(({ left, time }) => (
            <span key={left} class={left > 85 ? "time late" : "time"} style={{ left: `${left}%` }}>{tickText(time, span || data.end - data.begin)}</span>
          ))}
        </div>
      </div>
    </div>
  );
}

const DAY_MS = 86_400_000;

/** As short as a span of so many ms allows: a time of day, with the day where there are several. */
function tickText(time: number, span: number): string {
  const [day = "", at = ""] = moment(time).split(", ");
  const short = span < 600_000 ? at : at.slice(0, 5);
  return span > DAY_MS ? `${day.split(" ").slice(0, 2).join(" ")} ${short}` : short;
}

function OneMark({ mark: { event, left, width } }: { mark: Mark }) {
  const title = [event.title, event.detail].filter(Boolean).join(": ");
  return (
    <span class={`mark ${event.kind} ${event.status.toLowerCase()}`} title={title} style={{ left: `${left}%`, width: `${width}%` }}>
      {event.kind === "run" && width > WIDE_ENOUGH && event.title}
    </span>
  );
}

function Events({ events, now }: { events: TimelineEvent[]; now: number }) {
  if (!events.length) return <Empty>Nothing has happened yet.</Empty>;
  return (
    <Table
      caption="Events, newest first" dense
      rows={[...events].reverse().map((event, index) => ({ ...event, index }))}
      rowKey={(row) => row.index}
      columns={[
        { title: "Event", cell: (row) => row.title, sort: (row) => row.title },
        { title: "Status", cell: (row) => <Status of={row.kind === "run" && row.status === "IN_PROGRESS" ? "RUNNING" : row.status} />, sort: (row) => row.status },
        { title: "Time", cell: (row) => clock(row.time, now), sort: (row) => row.time, figure: true },
        { title: "Duration", cell: (row) => duration(row.end === null ? null : row.end - row.time), figure: true },
        { title: "Detail", quiet: true, cell: (row) => row.detail && <Detail event={row} /> },
      ]}
    />
  );
}

/** Paths of checkpoints differ only in their ends. */
function Detail({ event: { kind, status, detail } }: { event: TimelineEvent }) {
  const short = kind === "checkpoint" && status !== "FAILED" ? (detail.split("/").at(-1) ?? detail) : detail;
  return <span class={status === "FAILED" ? "bad-text wrap" : "muted wrap"} title={detail}>{short}</span>;
}
