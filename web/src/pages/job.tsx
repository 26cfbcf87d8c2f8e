/** One job: its figures, what can be done to it, and its tabs. */

import type { FunctionComponent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { usePolled } from "../api/polling";
import type { JobDetails } from "../api/types";
import { count, rate } from "../format/numbers";
import { duration, moment, since } from "../format/times";
import { isOver } from "../model/job_status";
import { Facts } from "../parts/facts";
import { Heading } from "../parts/heading";
import { Empty, Loaded } from "../parts/notice";
import { Status } from "../parts/status";
import { to } from "../route";
import { CheckpointsTab } from "./job/checkpoints";
import { ConfigurationTab } from "./job/configuration";
import { JobControls } from "./job/controls";
import { ExceptionsTab } from "./job/exceptions";
import { FlameTab } from "./job/flame";
import { FunctionsTab } from "./job/functions";
import { LogTab } from "./job/log";
import { MetricsTab } from "./job/metrics";
import { OverviewTab } from "./job/overview";
import { PlanTab } from "./job/plan";
import { StacksTab } from "./job/stacks";
import { TimelineTab } from "./job/timeline";

export interface TabProps {
  job: JobDetails;
}

interface Tab {
  name: string;
  title: string;
  show: FunctionComponent<TabProps>;
  /** Jobs that have the tab; none: all. */
  of?: (job: JobDetails) => boolean;
}

const TABS: Tab[] = [
  { name: "overview", title: "Overview", show: OverviewTab },
  { name: "plan", title: "Plan", show: PlanTab },
  { name: "timeline", title: "Timeline", show: TimelineTab },
  { name: "functions", title: "Functions", show: FunctionsTab, of: (job) => job["has-functions"] ?? false },
  { name: "checkpoints", title: "Checkpoints", show: CheckpointsTab },
  { name: "exceptions", title: "Exceptions", show: ExceptionsTab },
  { name: "stacks", title: "Stacks", show: StacksTab },
  { name: "flame", title: "Flame graph", show: FlameTab },
  { name: "log", title: "Log", show: LogTab },
  { name: "metrics", title: "Metrics", show: MetricsTab },
  { name: "configuration", title: "Configuration", show: ConfigurationTab },
];

const GONE = 404;

/** A job that the server does not know, or no longer: it keeps only so many ended jobs, for some time. */
function Gone({ last }: { last: JobDetails | undefined }) {
  return (
    <>
      <p class="crumbs"><a href={to(["jobs"])}>Jobs</a></p>
      <Heading title={last?.name ?? "Job not found"} />
      <Empty>
        {last ? "The server no longer knows this job." : "The server knows no job with this id."} It forgets jobs that ended
        long ago. <a href={to(["jobs"])}>See the jobs</a>.
      </Empty>
    </>
  );
}

export function JobPage({ id, tab }: { id: string; tab: string }) {
  const job = usePolled<JobDetails>(`jobs/${id}`);
  if (job.error?.status === GONE) return <Gone last={job.data} />;
  return <Loaded of={job}>{(data) => <Job job={data} tab={tab} refresh={job.refresh} />}</Loaded>;
}

function Job({ job, tab, refresh }: TabProps & { tab: string; refresh: () => void }) {
  const chosen = TABS.find(({ name }) => name === tab) ?? TABS[0]!;
  const lag = job["watermark-lag-ms"] ?? (job.watermark == null || isOver(job.state) ? greatestLag(job) : job.now - job.watermark);
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [chosen.name]);
  return (
    <>
      <p class="crumbs"><a href={to(["jobs"])}>Jobs</a></p>
      <Heading title={job.name}>
        <Status of={job.state} />
        <JobControls job={job} refresh={refresh} />
      </Heading>
      <p class="about">
        <span>Id <code>{job.jid}</code></span>
        <span>Started {moment(job["start-time"])}</span>
        {job["end-time"] > 0 && <span>Ended {moment(job["end-time"])}</span>}
        <a href={to(["jobs", "compare"], { left: job.jid })}>Compare with another run</a>
        {/^https?:/.test(job["spark-ui"] ?? "") && <a href={job["spark-ui"]} target="_blank" rel="noopener noreferrer">Spark’s UI</a>}
      </p>
      <Facts
        label="The job at a glance"
        facts={[
          { name: "Duration", value: duration(job.duration) },
          { name: "Records", value: isOver(job.state) ? count(job.records) : rate(job["records-per-second"]) },
          { name: "Watermark lag", value: duration(lag), hint: "Time by which the watermark is behind the clock" },
          { name: "Last checkpoint", value: job["last-checkpoint"] ? `${since(job["last-checkpoint"], job.now)} ago` : "–" },
          { name: "Epoch", value: count(job.epoch) },
          { name: "Executor", value: job.executor || "–", hint: job["executor-reason"] },
          { name: "Restarts", value: count(job.restarts), tone: job.restarts ? "warn" : undefined },
        ]}
      />
      <nav class="tabs" aria-label="About this job" ref={tabs}>
        {TABS.filter(({ of }) => !of || of(job)).map(({ name, title }) => (
          <a key={name} href={to(["jobs", job.jid, name])} aria-current={name === chosen.name ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <chosen.show job={job} />
    </>
  );
}

function greatestLag(job: JobDetails): number | null {
  const lags = job.vertices.map((vertex) => vertex["watermark-lag-ms"]).filter((lag) => typeof lag === "number");
  return lags.length ? Math.max(...lags) : null;
}
