/** A worker process: what it runs, what it does at this moment, and the logs of its jobs. */

import { useState } from "preact/hooks";
import { usePolled } from "../api/polling";
import { serverNow } from "../api/session";
import type { JobRow, ThreadDump, WorkerDetails } from "../api/types";
import { count } from "../format/numbers";
import { since } from "../format/times";
import { Facts } from "../parts/facts";
import { Heading } from "../parts/heading";
import { Empty, Loaded } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Table } from "../parts/table";
import { to } from "../route";
import { LogPanel } from "./job/log";

export function WorkerPage({ id }: { id: string }) {
  const path = `taskmanagers/${encodeURIComponent(id)}`;
  const worker = usePolled<WorkerDetails>(path, 5000);
  const jobs = usePolled<{ jobs: JobRow[] }>("jobs/overview", 5000);
  const names = new Map((jobs.data?.jobs ?? []).map((job) => [job.jid, job.name]));
  return (
    <>
      <p class="crumbs"><a href={to(["server"])}>Server</a></p>
      <Heading title={`Worker ${id}`} />
      <Loaded of={worker}>{(data) => <Details worker={data} path={path} names={names} />}</Loaded>
    </>
  );
}

function Details({ worker, path, names }: { worker: WorkerDetails; path: string; names: Map<string, string> }) {
  const jobs = worker.jobs ?? [];
  return (
    <>
      <Facts
        label="The worker at a glance"
        facts={[
          { name: "Host", value: worker.host ?? "–" },
          { name: "Process", value: worker.id.split(":").at(-1) ?? "–" },
          { name: "Subtasks", value: count(worker.slotsNumber), hint: "In the newest epochs" },
          { name: "Jobs", value: count(jobs.length) },
          { name: "Last seen", value: `${since(worker.timeSinceLastHeartbeat, serverNow())} ago` },
        ]}
      />
      <Panel title="Subtasks" flush>
        <Table
          caption="Subtasks of the worker" dense
          rows={worker.subtasks ?? []}
          rowKey={(row) => `${row.jid}-${row.vertex}-${row.subtask}`}
          columns={[
            { title: "Stage", cell: (row) => <span class="wrap">{row.name}</span>, sort: (row) => row.name },
            { title: "Job", cell: (row) => <a href={to(["jobs", row.jid])}>{names.get(row.jid) ?? row.jid}</a>, sort: (row) => names.get(row.jid) },
            { title: "Subtask", cell: (row) => row.subtask, sort: (row) => row.subtask, figure: true },
          ]}
        />
      </Panel>
      <Stacks path={`${path}/thread-dump`} />
      <Logs jobs={jobs} names={names} />
    </>
  );
}

function Stacks({ path }: { path: string }) {
  const dump = usePolled<ThreadDump>(path, 0);
  return (
    <Panel title="Stacks" tools={<button type="button" class="button" onClick={dump.refresh}>Refresh</button>}>
      <Loaded of={dump}>
        {({ threadInfos }) =>
          threadInfos.length ? (
            <ul class="stacks">
              {threadInfos.map((each) => (
                <li key={each.threadName}>
                  <h3>{each.threadName}</h3>
                  <pre class="code" tabIndex={0}>{each.stringifiedThreadInfo}</pre>
                </li>
              ))}
            </ul>
          ) : (
            <Empty>No subtask has been running for more than two seconds.</Empty>
          )
        }
      </Loaded>
    </Panel>
  );
}

/** What a worker prints is in the log of the job that it prints it for. */
function Logs({ jobs, names }: { jobs: string[]; names: Map<string, string> }) {
  const [chosen, setChosen] = useState("");
  const job = jobs.includes(chosen) ? chosen : jobs[0];
  if (!job) return null;
  return (
    <LogPanel key={job} job={job} title={`Log of ${names.get(job) ?? job}`}>
      {jobs.length > 1 && (
        <select aria-label="Job of the log" value={job} onChange={(event) => setChosen(event.currentTarget.value)}>
          {jobs.map((jid) => <option key={jid} value={jid}>{names.get(jid) ?? jid}</option>)}
        </select>
      )}
    </LogPanel>
  );
}
