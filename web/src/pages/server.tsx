/** The server itself: who leads, its workers, its settings. */

import { usePolled } from "../api/polling";
import { serverNow } from "../api/session";
import type { ClusterOverview, ConfigEntry, Health, TaskManager } from "../api/types";
import { count } from "../format/numbers";
import { since } from "../format/times";
import { Facts } from "../parts/facts";
import { Heading } from "../parts/heading";
import { Empty, Loaded } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Table } from "../parts/table";
import { to } from "../route";
import { originsOf, Settings } from "./job/configuration";

export function ServerPage() {
  const overview = usePolled<ClusterOverview>("overview", 5000);
  const health = usePolled<Health>("health", 5000);
  const workers = usePolled<{ taskmanagers: TaskManager[] }>("taskmanagers", 5000);
  const config = usePolled<ConfigEntry[]>("jobmanager/config", 0);
  return (
    <>
      <Heading title="Server" />
      <Loaded of={overview}>{(data) => <Glance overview={data} health={health.data} />}</Loaded>
      <Panel title="Workers" flush>
        <Loaded of={workers}>{({ taskmanagers }) => <Workers rows={taskmanagers} />}</Loaded>
      </Panel>
      <Panel title="Settings" flush>
        <Loaded of={config}>
          {(rows) => (
            <Settings
              caption="Settings of the server" searched
              values={Object.fromEntries(rows.map(({ key, value }) => [key, value]))}
              origins={originsOf(rows)}
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}

function Glance({ overview, health }: { overview: ClusterOverview; health: Health | undefined }) {
  const role = health?.leader === undefined ? "–" : health.leader ? "Leader" : "Standby";
  return (
    <Facts
      label="The server at a glance"
      facts={[
        { name: "Millrace", value: overview["millrace-version"] ?? "–" },
        { name: "Role", value: role },
        { name: "Workers", value: count(overview.taskmanagers) },
        { name: "Subtasks", value: count(overview["slots-total"]), hint: "Of all running jobs" },
        { name: "Running jobs", value: count(overview["jobs-running"]) },
      ]}
    />
  );
}

function Workers({ rows }: { rows: TaskManager[] }) {
  if (!rows.length) return <Empty>There are no workers, because no job is running.</Empty>;
  return (
    <Table
      caption="Workers of Spark"
      rows={rows}
      rowKey={(row) => row.id}
      columns={[
        { title: "Worker", cell: (row) => <a href={to(["workers", row.id])}><code>{row.id}</code></a>, sort: (row) => row.id },
        { title: "Host", cell: (row) => row.host ?? "–", sort: (row) => row.host },
        { title: "Subtasks", cell: (row) => count(row.slotsNumber), sort: (row) => row.slotsNumber, figure: true },
        { title: "Jobs", cell: (row) => count(row.jobs?.length), sort: (row) => row.jobs?.length, figure: true },
        {
          title: "Last seen", figure: true,
          cell: (row) => `${since(row.timeSinceLastHeartbeat, serverNow())} ago`, sort: (row) => row.timeSinceLastHeartbeat,
        },
      ]}
    />
  );
}
