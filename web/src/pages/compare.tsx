/** What differs between two savepoints. */

import { usePolled } from "../api/polling";
import type { StateDiff } from "../api/types";
import { count } from "../format/numbers";
import { Heading } from "../parts/heading";
import { Empty, Loaded, Problem } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Table } from "../parts/table";
import { to } from "../route";

type Sample = StateDiff["samples"][number];

export function ComparePage({ query }: { query: URLSearchParams }) {
  const [left, right] = [query.get("left"), query.get("right")];
  const asked = left && right ? `savepoints/compare?${new URLSearchParams({ left, right })}` : null;
  const diffs = usePolled<StateDiff[] | { states: StateDiff[] }>(asked, 0);
  return (
    <>
      <p class="crumbs"><a href={to(["savepoints"])}>Savepoints</a></p>
      <Heading title="Compare savepoints" />
      <dl class="pairs compared">
        <dt>First</dt>
        <dd><code>{left}</code></dd>
        <dt>Second</dt>
        <dd><code>{right}</code></dd>
      </dl>
      {asked ? (
        <Loaded of={diffs}>{(data) => <Differences all={Array.isArray(data) ? data : data.states} />}</Loaded>
      ) : (
        <Problem>Choose two savepoints in the tree to compare them.</Problem>
      )}
    </>
  );
}

function differs(diff: StateDiff): boolean {
  return Boolean(diff.unread) || diff.in_first !== diff.in_second || diff.added + diff.changed + diff.removed > 0;
}

function Differences({ all }: { all: StateDiff[] }) {
  const shown = all.filter(differs);
  if (!shown.length) return <Panel title="Differences"><Empty>No state differs.</Empty></Panel>;
  const operators = [...new Set(shown.map(({ uid }) => uid))];
  return (
    <>
      {operators.map((uid) => {
        const states = shown.filter((diff) => diff.uid === uid);
        return (
          <Panel key={uid} title={uid ? (states[0]?.operator ?? uid) : "All operators"} flush>
            {states.map((diff) => <State key={diff.state} diff={diff} />)}
          </Panel>
        );
      })}
    </>
  );
}

function State({ diff }: { diff: StateDiff }) {
  const place = diff.in_first === diff.in_second ? "" : diff.in_second ? "only in the second" : "only in the first";
  return (
    <div class="state">
      <h3>{diff.state} <span class="muted">{diff.kind}{place && `, ${place}`}</span></h3>
      {diff.unread ? (
        <p class="muted">Not compared: {diff.unread}</p>
      ) : (
        <p class="changes">
          {(["added", "changed", "removed"] as const)
            .filter((change) => diff[change] > 0)
            .map((change) => <span key={change} class={change}>{count(diff[change])} {change}</span>)}
        </p>
      )}
      {diff.samples.length > 0 && (
        <Table
          caption={`Examples of differences in ${diff.state}`} kind="differences"
          rows={diff.samples}
          rowKey={(sample) => JSON.stringify([sample.change, sample.key, sample.window])}
          columns={[
            { title: "Change", cell: (sample) => <span class={sample.change}>{sample.change}</span> },
            { title: "Key", cell: (sample) => <code>{keyOf(sample)}</code> },
            { title: "First", cell: (sample) => <code class="value">{text(sample.old)}</code> },
            { title: "Second", cell: (sample) => <code class="value">{text(sample.new)}</code> },
          ]}
        />
      )}
    </div>
  );
}

function keyOf({ key, window }: Sample): string {
  return [key, window].filter((part) => part !== null && part !== undefined).map(text).join(" in ") || "–";
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}
