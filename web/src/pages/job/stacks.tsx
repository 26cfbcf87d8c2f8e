/** What the workers do at this moment: for a job that is stuck. */

import { usePolled } from "../../api/polling";
import type { Stacks } from "../../api/types";
import { duration } from "../../format/times";
import { isOver } from "../../model/job_status";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import type { TabProps } from "../job";

export function StacksTab({ job }: TabProps) {
  const over = isOver(job.state);
  const stacks = usePolled<Stacks>(over ? null : `jobs/${job.jid}/stacks`, 0);
  const again = <button type="button" class="button" onClick={stacks.refresh}>Refresh</button>;
  return (
    <Panel title="Stacks of the workers" tools={over ? undefined : again}>
      {over ? <Empty>The job has ended.</Empty> : <Loaded of={stacks}>{(data) => <List data={data} />}</Loaded>}
    </Panel>
  );
}

function List({ data }: { data: Stacks }) {
  const waits = data["waits-for"] ?? data.waits_for;
  return (
    <>
      {waits && <p class="muted waits">The job waits for {waits}</p>}
      {data.subtasks.length ? <Subtasks data={data} /> : <Empty>No subtask has been running for more than two seconds.</Empty>}
      {data.driver && (
        <details>
          <summary>Stack of the driver</summary>
          <pre class="code" tabIndex={0}>{data.driver}</pre>
        </details>
      )}
    </>
  );
}

function Subtasks({ data }: { data: Stacks }) {
  const rows = [...data.subtasks].sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0));
  return (
    <ul class="stacks">
      {rows.map((row) => (
        <li key={`${row.operator}-${row.subtask}`}>
          <h3>{row.operator} <span class="muted">subtask {row.subtask}</span></h3>
          <p class="muted">
            {row.seconds != null && <>For {duration(row.seconds * 1000)}</>}
            {row.worker && <> on {row.worker}</>}
          </p>
          <pre class="code" tabIndex={0}>{row.stack}</pre>
        </li>
      ))}
    </ul>
  );
}
