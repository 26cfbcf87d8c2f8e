/** All jobs: those that run, and those that have ended. */

import { useState } from "preact/hooks";
import { usePolled } from "../api/polling";
import { mayOperate, serverNow } from "../api/session";
import type { ClusterOverview, JobRow } from "../api/types";
import { count, rate, short } from "../format/numbers";
import { duration, moment, since } from "../format/times";
import { isOver } from "../model/job_status";
import { headline } from "../model/traceback";
import { Facts } from "../parts/facts";
import { Heading } from "../parts/heading";
import { Empty, Loaded } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Status, wordOf } from "../parts/status";
import { type Column, Table } from "../parts/table";
import { to } from "../route";

const NAME: Column<JobRow> = {
  title: "Name",
  cell: (job) => (
    <>
      <a class="strong name" href={to(["jobs", job.jid])} title={job.name}>
        {job.name}
      </a>
      {job.error && <span class="reason" title={job.error}>{headline(job.error)}</span>}
    </>
  ),
  sort: (job) => job.name,
};
const STATUS: Column<JobRow> = { title: "Status", cell: (job) => <Status of={job.state} />, sort: (job) => job.state };
const DURATION: Column<JobRow> = {
  title: "Duration", cell: (job) => <span title={`Started ${moment(job["start-time"])}`}>{duration(job.duration)}</span>, sort: (job) => job.duration, figure: true,
};
const SUBTASKS: Column<JobRow> = {
  title: "Subtasks", cell: (job) => count(job.tasks?.["total"]), sort: (job) => job.tasks?.["total"], figure: true,
};
const RESTARTS: Column<JobRow> = {
  title: "Restarts", cell: (job) => count(job.restarts), sort: (job) => job.restarts, figure: true,
};

/** Ended jobs that are shown at first: a server keeps a thousand. */
const MOST_ENDED = 50;

export function JobsPage() {
  const jobs = usePolled<{ jobs: JobRow[] }>("jobs/overview");
  const overview = usePolled<ClusterOverview>("overview", 5000);
  const [sought, setSought] = useState("");
  return (
    <>
      <Heading title="Jobs">
        <div class="actions">
          <input
            type="search"
            class="search"
            placeholder="Find a job"
            aria-label="Find a job by name, id or status"
            value={sought}
            onInput={(event) => setSought(event.currentTarget.value)}
          />
          {mayOperate.value && <a class="button primary" href={to(["submit"])}>Submit a job</a>}
        </div>
      </Heading>
      <Totals jobs={jobs.data?.jobs ?? []} overview={overview.data} />
      <Loaded of={jobs}>{(data) => <Lists jobs={data.jobs.filter((job) => matches(job, sought))} sought={sought.trim() !== ""} />}</Loaded>
    </>
  );
}

function matches(job: JobRow, sought: string): boolean {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const statuses = [job.state.toLowerCase(), wordOf(job.state)];
  return words.every((word) => job.name.toLowerCase().includes(word) || job.jid.startsWith(word) || statuses.includes(word));
}

function Totals({ jobs, overview }: { jobs: JobRow[]; overview: ClusterOverview | undefined }) {
  const rates = jobs.map((job) => job["records-per-second"]).filter((value) => typeof value === "number");
  const failed = overview?.["jobs-failed"];
  return (
    <Facts
      label="Totals"
      facts={[
        { name: "Running", value: count(overview?.["jobs-running"]) },
        { name: "Finished", value: count(overview?.["jobs-finished"]) },
        { name: "Cancelled", value: count(overview?.["jobs-cancelled"]) },
        { name: "Failed", value: count(failed), tone: failed ? "bad" : undefined },
        { name: "Records/s", value: rates.length ? short(rates.reduce((a, b) => a + b, 0)) : "–" },
        { name: "Subtasks", value: count(overview?.["slots-total"]), hint: "Of all running jobs" },
      ]}
    />
  );
}

/** `sought`: whether they are only those that somebody looks for. */
function Lists({ jobs, sought }: { jobs: JobRow[]; sought: boolean }) {
  const now = serverNow();
  const [all, setAll] = useState(false);
  const running = jobs.filter((job) => !isOver(job.state)).sort((a, b) => b["start-time"] - a["start-time"]);
  const ended = jobs.filter((job) => isOver(job.state)).sort((a, b) => b["end-time"] - a["end-time"]);
  return (
    <>
      <Panel title="Running" flush>
        {running.length ? (
          <Table
            caption="Running jobs" dense kind="jobs"
            rows={running}
            rowKey={(job) => job.jid}
            columns={[
              NAME, STATUS, DURATION,
              {
                title: "Records/s", figure: true,
                cell: (job) => rate(job["records-per-second"]), sort: (job) => job["records-per-second"],
              },
              {
                title: "Watermark lag", figure: true,
                cell: (job) => duration(job["watermark-lag-ms"]), sort: (job) => job["watermark-lag-ms"],
              },
              {
                title: "Last checkpoint", figure: true,
                cell: (job) => (job["last-checkpoint"] ? `${since(job["last-checkpoint"], now)} ago` : "–"),
                sort: (job) => job["last-checkpoint"],
              },
              SUBTASKS, RESTARTS,
            ]}
          />
        ) : (
          <Empty>{sought ? "No running job has this name, id or status." : <>No job is running. <a href={to(["submit"])}>Submit one</a>, or run <code>millrace run --server</code>.</>}</Empty>
        )}
      </Panel>
      {ended.length > 0 && (
        <Panel
          title="Ended" flush
          tools={ended.length > MOST_ENDED && !all && (
            <>
              <span class="muted">The newest {MOST_ENDED} of {count(ended.length)}</span>
              <button type="button" class="button" onClick={() => setAll(true)}>Show all</button>
            </>
          )}
        >
          <Table
            caption="Ended jobs" dense kind="jobs"
            rows={all ? ended : ended.slice(0, MOST_ENDED)}
            rowKey={(job) => job.jid}
            columns={[
              NAME, STATUS, DURATION,
              { title: "Ended", cell: (job) => moment(job["end-time"]), sort: (job) => job["end-time"], figure: true },
              SUBTASKS, RESTARTS,
            ]}
          />
        </Panel>
      )}
    </>
  );
}
