/** Metrics of the job, of a stage or of a subtask: as a list, and any of them as a chart. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { usePolled } from "../../api/polling";
import { serverNow } from "../../api/session";
import type { Accumulators, MetricValue } from "../../api/types";
import { chartValue, isMoment, metricText } from "../../format/metrics";
import { Chart, type Series } from "../../parts/chart";
import { Empty, Loaded } from "../../parts/notice";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import type { TabProps } from "../job";

/** Values asked for in one request; more names than that must be searched. */
const MOST = 200;
/** Points that a chart keeps: half an hour. */
const MOST_POINTS = 900;

interface Charted {
  path: string;
  id: string;
  /** Whose metric it is. */
  owner: string;
}

const keyOf = ({ path, id }: Charted): string => `${path} ${id}`;

export function MetricsTab({ job }: TabProps) {
  const [scope, setScope] = useState("");
  const [subtask, setSubtask] = useState("");
  const [charts, setCharts] = useState<Charted[]>([]);
  const accumulators = usePolled<Accumulators>(`jobs/${job.jid}/accumulators`, 5000);
  const own = accumulators.data?.["user-task-accumulators"] ?? [];
  const stage = job.vertices.find(({ id }) => id === scope);
  const scopes = (
    <>
      <select aria-label="Scope of the metrics" value={scope} onChange={(event) => (setScope(event.currentTarget.value), setSubtask(""))}>
        <option value="">The job</option>
        {job.vertices.map(({ id, name }) => (
          <option key={id} value={id}>{name}</option>
        ))}
      </select>
      {stage && (
        <select aria-label="Subtask" value={subtask} onChange={(event) => setSubtask(event.currentTarget.value)}>
          <option value="">All subtasks</option>
          {Array.from({ length: stage.parallelism }, (_, index) => <option key={index} value={index}>Subtask {index}</option>)}
        </select>
      )}
    </>
  );
  const path = scope ? `jobs/${job.jid}/vertices/${scope}${subtask ? `/subtasks/${subtask}` : ""}/metrics` : `jobs/${job.jid}/metrics`;
  const owner = stage ? `${stage.name}${subtask ? `, subtask ${subtask}` : ""}` : "";
  const isCharted = (id: string): boolean => charts.some((chart) => keyOf(chart) === keyOf({ path, id, owner }));
  const toggle = (chart: Charted): void =>
    setCharts(charts.some((other) => keyOf(other) === keyOf(chart)) ? charts.filter((other) => keyOf(other) !== keyOf(chart)) : [...charts, chart]);
  return (
    <>
      {charts.length > 0 && (
        <Panel title="Charts">
          <div class="charts">
            {charts.map((chart) => <MetricChart key={keyOf(chart)} chart={chart} remove={() => toggle(chart)} />)}
          </div>
        </Panel>
      )}
      <Panel title="Metrics" flush tools={scopes}>
        <Metrics key={path} path={path} isCharted={isCharted} toggle={(id) => toggle({ path, id, owner })} />
      </Panel>
      <Panel title="Accumulators" flush>
        {own.length ? (
          <Table
            caption="Values of accumulators"
            rows={own}
            rowKey={(row) => row.name}
            columns={[
              { title: "Name", cell: (row) => <code>{row.name}</code>, sort: (row) => row.name },
              { title: "Type", cell: (row) => row.type },
              { title: "Value", cell: (row) => metricText("", row.value), figure: true },
            ]}
          />
        ) : (
          <Empty>The job has no accumulators.</Empty>
        )}
      </Panel>
    </>
  );
}

/** The values of a metric since it was chosen. */
function MetricChart({ chart: { path, id, owner }, remove }: { chart: Charted; remove: () => void }) {
  const values = usePolled<MetricValue[]>(`${path}?get=${encodeURIComponent(id)}`);
  const [series, setSeries] = useState<Series>({ times: [], values: [] });
  useEffect(() => {
    if (!values.data) return;
    const value = Number(values.data[0]?.value);
    setSeries((old) => ({
      times: [...old.times, serverNow() / 1000].slice(-MOST_POINTS),
      values: [...old.values, chartValue(id, value)].slice(-MOST_POINTS),
    }));
  }, [values.data]);
  return (
    <div class="metric-chart">
      <Chart title={id} series={series} format={(value) => metricText(id, value)} group="metrics" moments={isMoment(id)} />
      <p class="help">
        {owner && <span>{owner}</span>}
        <button type="button" class="link" aria-label={`Remove the chart of ${id}`} onClick={remove}>Remove</button>
      </p>
    </div>
  );
}

interface MetricsProps {
  path: string;
  isCharted: (id: string) => boolean;
  toggle: (id: string) => void;
}

function Metrics({ path, isCharted, toggle }: MetricsProps) {
  const names = usePolled<MetricValue[]>(path, 0);
  const [sought, setSought] = useState("");
  const wanted = useMemo(() => {
    const all = (names.data ?? []).map(({ id }) => id).sort();
    return all.filter((id) => id.toLowerCase().includes(sought.toLowerCase()));
  }, [names.data, sought]);
  const asked = wanted.slice(0, MOST).map(encodeURIComponent).join(",");
  const values = usePolled<MetricValue[]>(asked ? `${path}?get=${asked}` : null);
  const known = new Map((values.data ?? []).map(({ id, value }) => [id, value]));
  return (
    <Loaded of={names}>
      {() => (
        <>
          <input
            type="search" class="search inset" placeholder="Find a metric" aria-label="Find a metric"
            value={sought} onInput={(event) => setSought(event.currentTarget.value)}
          />
          {wanted.length ? (
            <Table
              caption="Values of metrics"
              rows={wanted.slice(0, MOST)}
              rowKey={(id) => id}
              columns={[
                { title: "Name", cell: (id) => <code>{id}</code> },
                { title: "Value", cell: (id) => metricText(id, known.get(id)), figure: true },
                {
                  title: "Chart", quiet: true, figure: true,
                  cell: (id) => (
                    <button type="button" class="link" aria-pressed={isCharted(id)} aria-label={`Chart of ${id}`} onClick={() => toggle(id)}>
                      {isCharted(id) ? "Remove chart" : "Chart"}
                    </button>
                  ),
                },
              ]}
            />
          ) : (
            <Empty>There is no such metric.</Empty>
          )}
          {wanted.length > MOST && <p class="muted line inset">{wanted.length - MOST} more: search to see them.</p>}
        </>
      )}
    </Loaded>
  );
}
