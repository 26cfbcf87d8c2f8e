/** The plan of the job as text: its operators and their exchanges, as EXPLAIN prints them. */

import { usePolled } from "../../api/polling";
import type { Plan } from "../../api/types";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { tell } from "../../parts/toasts";
import type { TabProps } from "../job";

export function PlanTab({ job }: TabProps) {
  const plan = usePolled<Plan>(`jobs/${job.jid}/plan`, 0);
  const text = plan.data?.text ?? "";
  const copy = (
    <button type="button" class="button" onClick={() => void navigator.clipboard.writeText(text).then(() => tell("The plan is copied."))}>
      Copy
    </button>
  );
  return (
    <Panel title="Plan" tools={text && window.isSecureContext ? copy : undefined}>
      <Loaded of={plan}>
        {() => (text ? <pre class="code plan" tabIndex={0} aria-label="Text of the plan">{text}</pre> : <Empty>The job has not reported its plan.</Empty>)}
      </Loaded>
    </Panel>
  );
}
