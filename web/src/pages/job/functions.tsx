/** Stateful Functions: the figures of each type. */

import { usePolled } from "../../api/polling";
import type { FunctionFigures, Functions } from "../../api/types";
import { bytes, count, rate } from "../../format/numbers";
import { latency } from "../../format/times";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { type Column, Table } from "../../parts/table";
import type { TabProps } from "../job";

const COLUMNS: Column<FunctionFigures>[] = [
  { title: "Function", cell: (row) => <Name row={row} />, sort: nameOf },
  {
    title: "Messages/s", figure: true,
    cell: (row) => rate(row["messages-per-second"]), sort: (row) => row["messages-per-second"],
  },
  { title: "Latency p50", figure: true, cell: (row) => latency(row["latency-ms"].p50), sort: (row) => row["latency-ms"].p50 },
  { title: "p99", figure: true, cell: (row) => latency(row["latency-ms"].p99), sort: (row) => row["latency-ms"].p99 },
  { title: "Backlog", figure: true, cell: (row) => count(row.backlog), sort: (row) => row.backlog },
  { title: "In flight", figure: true, cell: (row) => count(row["in-flight"]), sort: (row) => row["in-flight"] },
  { title: "Failures", figure: true, cell: (row) => <Failures row={row} />, sort: (row) => row.failures },
  { title: "Addresses", figure: true, cell: (row) => count(row.addresses), sort: (row) => row.addresses },
  { title: "State", figure: true, cell: (row) => bytes(row["state-bytes"]), sort: (row) => row["state-bytes"] },
];

export function FunctionsTab({ job }: TabProps) {
  const functions = usePolled<Functions>(`jobs/${job.jid}/functions`);
  return (
    <Panel title="Functions" flush>
      <Loaded of={functions}>
        {(data) =>
          data.functions.length ? (
            <Table caption="Figures of functions" dense rows={data.functions} rowKey={nameOf} columns={COLUMNS} />
          ) : (
            <Empty>No function has been invoked yet.</Empty>
          )
        }
      </Loaded>
    </Panel>
  );
}

function nameOf(row: FunctionFigures): string {
  return `${row.namespace}/${row.name}`;
}

function Name({ row }: { row: FunctionFigures }) {
  return (
    <div class="function">
      <strong>{row.name}</strong> <span class="muted">{row.namespace}</span>
      <div class="muted place">{row.endpoint === "embedded" ? "in the workers" : row.endpoint}</div>
    </div>
  );
}

function Failures({ row }: { row: FunctionFigures }) {
  return row.failures ? <span class="removed" title={rate(row["failures-per-second"])}>{count(row.failures)}</span> : <>0</>;
}
