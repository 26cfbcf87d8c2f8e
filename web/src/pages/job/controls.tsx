/** What can be done to a job that runs; each asks before it does it. */

import { useState } from "preact/hooks";
import { cancelJob, rerunJob, rescaleJob, stopJob, takeSavepoint } from "../../api/operations";
import { mayOperate } from "../../api/session";
import type { JobDetails } from "../../api/types";
import { isOver } from "../../model/job_status";
import { Dialog } from "../../parts/dialog";
import { go } from "../../route";

interface Props {
  job: JobDetails;
  refresh: () => void;
}

type Control = "savepoint" | "rescale" | "stop" | "cancel";

const BUTTONS: { control: Control; title: string; danger?: boolean }[] = [
  { control: "savepoint", title: "Savepoint" },
  { control: "rescale", title: "Rescale" },
  { control: "stop", title: "Stop" },
  { control: "cancel", title: "Cancel", danger: true },
];

export function JobControls({ job, refresh }: Props) {
  const [asked, setAsked] = useState<Control | null>(null);
  if (!mayOperate.value) return null;
  if (isOver(job.state)) return <Reruns job={job} />;
  const close = (): void => {
    setAsked(null);
    refresh();
  };
  return (
    <div class="actions" role="group" aria-label="Control the job">
      {BUTTONS.map(({ control, title, danger }) => (
        <button key={control} type="button" class={danger ? "button danger quiet" : "button"} onClick={() => setAsked(control)}>
          {title}
        </button>
      ))}
      {asked === "savepoint" && <SavepointDialog jobs={[job]} close={close} />}
      {asked === "rescale" && <RescaleDialog job={job} close={close} />}
      {asked === "stop" && <StopDialog job={job} close={close} />}
      {asked === "cancel" && (
        <Dialog
          title={`Cancel “${job.name}”?`}
          action="Cancel the job"
          danger
          close={close}
          run={async () => (await cancelJob(job.jid), "The job is being cancelled.")}
        >
          <p>The job ends immediately, without a savepoint. A job that starts from the last checkpoint repeats the work done since then.</p>
        </Dialog>
      )}
    </div>
  );
}

/** For a job that has ended: run it once more. */
function Reruns({ job }: { job: JobDetails }) {
  const [start, setStart] = useState<"beginning" | "checkpoint" | null>(null);
  return (
    <div class="actions" role="group" aria-label="Run the job once more">
      <button type="button" class="button" onClick={() => setStart("checkpoint")}>Start from last checkpoint</button>
      <button type="button" class="button" onClick={() => setStart("beginning")}>Start again</button>
      {start && (
        <Dialog
          title={start === "checkpoint" ? `Start “${job.name}” from its last checkpoint?` : `Start “${job.name}” again?`}
          action="Start"
          close={() => setStart(null)}
          run={async () => (go(["jobs", await rerunJob(job.jid, start)]), "The job has been started.")}
        >
          <p>
            {start === "checkpoint"
              ? "A new job runs the same program with the same arguments and settings. It continues from the last checkpoint."
              : "A new job runs the same program with the same arguments and settings. It starts as this job started, and reads its input again."}
          </p>
        </Dialog>
      )}
    </div>
  );
}

interface SavepointProps {
  /** Of which one may be chosen. */
  jobs: { jid: string; name: string }[];
  close: () => void;
}

export function SavepointDialog({ jobs, close }: SavepointProps) {
  const [job, setJob] = useState(jobs[0]?.jid ?? "");
  const [directory, setDirectory] = useState("");
  return (
    <Dialog
      title={jobs.length === 1 ? `Take a savepoint of “${jobs[0]!.name}”` : "Take a savepoint"}
      action="Take savepoint"
      close={close}
      run={async () => `Savepoint taken: ${await takeSavepoint(job, directory.trim())}`}
    >
      <p>The job keeps running.</p>
      {jobs.length > 1 && (
        <label class="field">
          Job
          <select value={job} onChange={(event) => setJob(event.currentTarget.value)}>
            {jobs.map(({ jid, name }) => <option key={jid} value={jid}>{name}</option>)}
          </select>
        </label>
      )}
      <Directory value={directory} change={setDirectory} />
    </Dialog>
  );
}

function StopDialog({ job, close }: { job: JobDetails; close: () => void }) {
  const [directory, setDirectory] = useState("");
  const [drain, setDrain] = useState(false);
  return (
    <Dialog
      title={`Stop “${job.name}”?`}
      action="Stop the job"
      close={close}
      run={async () => `The job has stopped. Its savepoint: ${await stopJob(job.jid, drain, directory.trim())}`}
    >
      <p>The job takes a savepoint, commits the output of its sinks, and ends. A job can start again from this savepoint.</p>
      <Directory value={directory} change={setDirectory} />
      <label class="check">
        <input type="checkbox" checked={drain} onChange={(event) => setDrain(event.currentTarget.checked)} />
        <span>
          Drain: fire all timers and close all windows first
          <small>Only for a job that you will not continue: open windows are emitted before they are complete.</small>
        </span>
      </label>
    </Dialog>
  );
}

function RescaleDialog({ job, close }: { job: JobDetails; close: () => void }) {
  const now = job.parallelism ?? Math.max(1, ...job.vertices.map((vertex) => vertex.parallelism));
  const [parallelism, setParallelism] = useState(String(now));
  return (
    <Dialog
      title={`Rescale “${job.name}”`}
      action="Rescale"
      close={close}
      run={async () => (await rescaleJob(job.jid, Number(parallelism)), `The job runs with parallelism ${parallelism}.`)}
    >
      <p>The job continues from a checkpoint with the new number of subtasks.</p>
      <label class="field">
        Parallelism
        <input
          type="number"
          min="1"
          max={job.maxParallelism && job.maxParallelism > 0 ? job.maxParallelism : undefined}
          required
          value={parallelism}
          onInput={(event) => setParallelism(event.currentTarget.value)}
        />
      </label>
    </Dialog>
  );
}

function Directory({ value, change }: { value: string; change: (value: string) => void }) {
  return (
    <label class="field">
      Directory
      <input value={value} placeholder="As configured" onInput={(event) => change(event.currentTarget.value)} />
    </label>
  );
}
