/** Newest records that an operator of a stage has emitted, for jobs that allow it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { usePolled } from "../../api/polling";
import { mayOperate, serverNow } from "../../api/session";
import type { Preview } from "../../api/types";
import { clock } from "../../format/times";
import type { FlowNode } from "../../model/dataflow";
import { described } from "../../model/operators";
import { Loaded } from "../../parts/notice";

export function PreviewPart({ job, node }: { job: string; node: FlowNode }) {
  const [shown, setShown] = useState(false);
  const [operator, setOperator] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // the panel only: the page stays where it is
    const panel = heading.current?.closest(".side");
    if (shown && panel) panel.scrollTop += heading.current!.getBoundingClientRect().top - panel.getBoundingClientRect().top - 12;
  }, [shown]);
  if (!mayOperate.value) return null;
  return (
    <>
      <h4 ref={heading}>Records</h4>
      {shown ? (
        <>
          {node.operators.length > 1 && (
            <select aria-label="Operator" value={operator || (node.operators[0]?.uid ?? "")} onChange={(event) => setOperator(event.currentTarget.value)}>
              {node.operators.map((each) => <option key={each.uid} value={each.uid}>{described(each).kind}</option>)}
            </select>
          )}
          <Records path={`jobs/${job}/vertices/${node.id}/preview?${new URLSearchParams({ operator: operator || (node.operators[0]?.uid ?? "") })}`} />
          <button type="button" class="link" onClick={() => setShown(false)}>Hide the records</button>
        </>
      ) : (
        <button type="button" class="link" onClick={() => setShown(true)}>Show records as they are emitted</button>
      )}
    </>
  );
}

function Records({ path }: { path: string }) {
  const preview = usePolled<Preview>(path);
  return (
    <Loaded of={preview}>
      {({ enabled, records }) => {
        if (!enabled) return <p class="muted">This job does not allow previews. Start it with <code>millrace.preview.enabled=true</code>.</p>;
        if (!records.length) return <p class="muted">The operator has emitted no record since you opened this list.</p>;
        return (
          <ol class="records" aria-label="Newest records" tabIndex={0}>
            {records.map((record, index) => (
              <li key={`${record.time}-${index}`}>
                <span class="muted">{clock(record.time, serverNow())}, subtask {record.subtask}</span>
                <code>{record.text}</code>
              </li>
            ))}
          </ol>
        );
      }}
    </Loaded>
  );
}
