/** What went wrong, the user's own lines first, and what workers warn of. */

import { usePolled } from "../../api/polling";
import type { ExceptionEntry, Exceptions, Notice } from "../../api/types";
import { count } from "../../format/numbers";
import { moment } from "../../format/times";
import { type Frame, headline, rootFailure } from "../../model/traceback";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import type { TabProps } from "../job";

export function ExceptionsTab({ job }: TabProps) {
  const exceptions = usePolled<Exceptions>(`jobs/${job.jid}/exceptions`, 5000);
  return <Loaded of={exceptions}>{(data) => <Report data={data} />}</Loaded>;
}

function Report({ data }: { data: Exceptions }) {
  const entries = entriesOf(data);
  const [newest, ...older] = entries;
  const notices = <Notices rows={data.notices ?? []} />;
  if (!newest) {
    return (
      <>
        <Panel title="Exceptions"><Empty>Nothing has gone wrong.</Empty></Panel>
        {notices}
      </>
    );
  }
  return (
    <>
      <Panel title="Newest failure" tools={<span class="muted">{moment(newest.timestamp)}</span>}>
        <Failed entry={newest} />
      </Panel>
      {older.length > 0 && (
        <Panel title="Earlier failures" flush>
          <ul class="folds">
            {older.map((entry) => (
              <li key={`${entry.timestamp}-${entry.taskName}`}>
                <details>
                  <summary>
                    <span class="muted">{moment(entry.timestamp)}</span> {headline(entry.stacktrace)}
                  </summary>
                  <Failed entry={entry} />
                </details>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {notices}
    </>
  );
}

/** Warnings of workers, and what operators tell on purpose. */
function Notices({ rows }: { rows: Notice[] }) {
  if (!rows.length) return null;
  return (
    <Panel title="Warnings and notices" flush>
      <Table
        caption="Messages of workers, newest first"
        rows={rows}
        rowKey={(row) => `${row.first} ${row.logger} ${row.taskName} ${row.text}`}
        columns={[
          { title: "Last", cell: (row) => moment(row.timestamp), sort: (row) => row.timestamp },
          { title: "Level", cell: (row) => <span class={row.level === "INFO" ? "tag quiet" : "tag"}>{row.level.toLowerCase()}</span>, sort: (row) => row.level },
          { title: "Times", cell: (row) => count(row.count), sort: (row) => row.count, figure: true },
          { title: "Operator", cell: (row) => placeOf(row), sort: (row) => row.taskName ?? "" },
          { title: "Text", cell: (row) => <span class="wrap" title={row.logger}>{row.text}</span> },
        ]}
      />
    </Panel>
  );
}

function placeOf({ taskName, subtasks = [] }: Notice): string {
  if (!taskName) return "–";
  return subtasks.length ? `${taskName}, subtask ${subtasks.join(", ")}` : taskName;
}

function entriesOf(data: Exceptions): ExceptionEntry[] {
  const entries = data.exceptionHistory?.entries ?? [];
  if (entries.length) return [...entries].sort((a, b) => b.timestamp - a.timestamp);
  const root = data["root-exception"];
  return root ? [{ stacktrace: root, timestamp: data.timestamp ?? 0 }] : [];
}

function Failed({ entry }: { entry: ExceptionEntry }) {
  const failure = rootFailure(entry.stacktrace);
  const where = [entry.taskName, entry.endpoint].filter(Boolean).join(" on ");
  return (
    <div class="failure">
      <p class="said">
        {failure?.type && <strong>{failure.type}</strong>}
        <span>{failure ? failure.message : headline(entry.stacktrace)}</span>
      </p>
      {where && <p class="muted">In {where}</p>}
      {entry.record && <p class="record">While processing the record <code>{entry.record}</code></p>}
      {failure && <Frames frames={failure.frames} />}
      <details>
        <summary>Full text</summary>
        <pre class="code" tabIndex={0}>{entry.stacktrace}</pre>
      </details>
    </div>
  );
}

/** The user's frames, the innermost first: there it happened. */
function Frames({ frames }: { frames: Frame[] }) {
  const own = frames.filter((frame) => frame.own).reverse();
  const others = frames.length - own.length;
  if (!own.length) return null;
  return (
    <>
      <ol class="frames" aria-label="Frames of your code, innermost first">
        {own.map((frame, index) => (
          <li key={`${frame.file}:${frame.line}:${index}`}>
            <p>
              <code>{frame.file}</code>, line {frame.line}
              {frame.function && <>, in <code>{frame.function}</code></>}
            </p>
            {frame.code && (
              <pre class="code" tabIndex={0}><span class="number">{frame.line}</span>{frame.code}</pre>
            )}
          </li>
        ))}
      </ol>
      {others > 0 && <p class="muted">{others === 1 ? "1 more frame is" : `${others} more frames are`} in libraries.</p>}
    </>
  );
}
