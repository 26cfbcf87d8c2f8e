/** What the REST API answers. Names are the API's; times are ms since the epoch. */

export interface ClusterOverview {
  taskmanagers: number;
  "slots-total": number;
  "slots-available": number;
  "jobs-running": number;
  "jobs-finished": number;
  "jobs-cancelled": number;
  "jobs-failed": number;
  "flink-version"?: string;
  "millrace-version"?: string;
}

export interface ServerConfig {
  features?: { "web-submit"?: boolean; "web-cancel"?: boolean; "web-rescale"?: boolean };
  role?: "read" | "operate";
  "millrace-version"?: string;
  "flink-version"?: string;
}

export type JobStatus =
  | "INITIALIZING" | "CREATED" | "RUNNING" | "FAILING" | "FAILED" | "CANCELLING" | "CANCELED"
  | "FINISHED" | "RESTARTING" | "SUSPENDED" | "RECONCILING";

export interface JobRow {
  jid: string;
  name: string;
  state: JobStatus;
  "start-time": number;
  "end-time": number;
  duration: number;
  "records-per-second"?: number | null;
  "watermark-lag-ms"?: number | null;
  "last-checkpoint"?: number | null;
  records?: number | null;
  restarts?: number | null;
  /** Subtasks by their status, and `total`. */
  tasks?: Record<string, number>;
  /** Why it failed; empty: it did not. */
  error?: string;
}

export interface Vertex {
  id: string;
  uid?: string;
  name: string;
  parallelism: number;
  status: string;
  duration?: number;
  metrics?: Record<string, number | boolean | null>;
  "records-in-per-second"?: number | null;
  "records-out-per-second"?: number | null;
  /** Shares of time from 0 to 1, of the subtask with the largest one and of the median one. */
  "busy-ratio"?: number | null;
  "busy-ratio-median"?: number | null;
  "back-pressured-ratio"?: number | null;
  "back-pressured-ratio-median"?: number | null;
  /** Records of the busiest subtask divided by the mean. */
  skew?: number | null;
  watermark?: number | null;
  "watermark-lag-ms"?: number | null;
  "state-bytes"?: number | null;
}

/** An operator of a stage. */
export interface PlanOperator {
  uid: string;
  name: string;
  /** `Calc(select=[id], where=[id > 3])`; empty: only the name is known. */
  description: string;
}

export interface PlanInput {
  num: number;
  id: string;
  ship_strategy?: string;
}

export interface PlanNode {
  id: string;
  parallelism: number;
  operator?: string;
  description?: string;
  inputs?: PlanInput[];
  operators?: PlanOperator[];
}

export interface Plan {
  /** As EXPLAIN prints it. */
  text?: string;
}

export interface JobDetails {
  jid: string;
  name: string;
  state: JobStatus;
  "start-time": number;
  "end-time": number;
  duration: number;
  now: number;
  isStoppable?: boolean;
  /** `epochs` or `resident`; empty: not known yet. */
  executor?: string;
  "executor-reason"?: string;
  maxParallelism?: number;
  parallelism?: number | null;
  vertices: Vertex[];
  plan: { nodes: PlanNode[] };
  /** What else than its input it waits for, in a sentence; empty: nothing. */
  "waits-for"?: string;
  epoch?: number | null;
  restarts?: number | null;
  records?: number | null;
  "records-per-second"?: number | null;
  "watermark-lag-ms"?: number | null;
  "last-checkpoint"?: number | null;
  watermark?: number | null;
  /** Whether it has Stateful Functions. */
  "has-functions"?: boolean;
  /** URL; empty: there is none. */
  "spark-ui"?: string;
}

/** A type of Stateful Functions. */
export interface FunctionFigures {
  namespace: string;
  name: string;
  /** URL, or `embedded`. */
  endpoint: string;
  messages: number;
  "messages-per-second": number;
  /** Of the last invocations, in the slowest subtask. */
  "latency-ms": { p50: number | null; p99: number | null; max: number | null };
  backlog: number;
  "blocked-addresses": number;
  "in-flight": number;
  failures: number;
  "failures-per-second": number;
  "sent-local": number;
  "sent-remote": number;
  "sent-egress": number;
  addresses: number;
  "state-bytes": number;
}

export interface Functions {
  functions: FunctionFigures[];
}

export interface Subtask {
  subtask: number;
  status: string;
  attempt: number;
  endpoint?: string;
  host?: string;
  duration?: number;
  metrics?: Record<string, number | boolean | null>;
  "records-in-per-second"?: number | null;
  "records-out-per-second"?: number | null;
  "busy-ratio"?: number | null;
  "back-pressured-ratio"?: number | null;
  "state-bytes"?: number | null;
  /** Ms since the epoch; null: it has none. */
  watermark?: number | null;
}

export interface VertexDetails {
  id: string;
  name: string;
  parallelism: number;
  now: number;
  subtasks: Subtask[];
  "operator-figures"?: OperatorFigures[];
}

/** Records of an operator since the run began or was last rescaled. */
export interface OperatorFigures {
  uid: string;
  "records-in": number;
  "records-out": number;
  watermark?: number | null;
}

export interface MetricValue {
  id: string;
  value?: string;
}

export interface Checkpoint {
  id: number;
  status: "IN_PROGRESS" | "COMPLETED" | "FAILED";
  is_savepoint: boolean;
  trigger_timestamp: number;
  latest_ack_timestamp?: number;
  end_to_end_duration?: number | null;
  state_size?: number | null;
  checkpointed_size?: number | null;
  external_path?: string | null;
  failure_timestamp?: number;
  failure_message?: string | null;
  epoch?: number | null;
  checkpoint_type?: string;
  discarded?: boolean | null;
}

export interface Quantiles {
  min?: number | null;
  max?: number | null;
  avg?: number | null;
  p50?: number | null;
  p99?: number | null;
}

export interface Checkpoints {
  counts: { restored: number; total: number; in_progress: number; completed: number; failed: number };
  summary?: { state_size?: Quantiles; checkpointed_size?: Quantiles; end_to_end_duration?: Quantiles } | null;
  latest: {
    completed?: Checkpoint | null;
    savepoint?: Checkpoint | null;
    failed?: Checkpoint | null;
    restored?: { id: number; restore_timestamp: number; is_savepoint: boolean; external_path?: string } | null;
  };
  history: Checkpoint[];
}

export interface CheckpointConfig {
  mode?: string;
  interval?: number;
  timeout?: number;
  state_backend?: string;
  checkpoint_storage?: string;
  [name: string]: unknown;
}

export interface ExceptionEntry {
  exceptionName?: string;
  stacktrace: string;
  timestamp: number;
  taskName?: string | null;
  record?: string | null;
  endpoint?: string | null;
}

export interface Exceptions {
  "root-exception"?: string | null;
  timestamp?: number | null;
  exceptionHistory?: { entries: ExceptionEntry[]; truncated: boolean };
  notices?: Notice[];
}

/** A warning of workers, or something else that they tell although nothing has failed. */
export interface Notice {
  level: "INFO" | "WARNING" | "ERROR" | "CRITICAL";
  logger: string;
  text: string;
  taskName?: string | null;
  subtasks?: number[];
  first: number;
  timestamp: number;
  count: number;
}

export interface StackEntry {
  operator: string;
  subtask: number;
  worker?: string | null;
  seconds?: number | null;
  stack: string;
}

export interface Stacks {
  /** Those that have been running for long. */
  subtasks: StackEntry[];
  epoch?: { epoch: number; attempt: number; since: number; subtasks: number; done: number | null } | null;
  driver?: string | null;
  waits_for?: string;
  "waits-for"?: string;
}

export interface LogPart {
  offset: number;
  next: number;
  size: number;
  text: string;
}

export interface HistoryPoint {
  time: number;
  "records-per-second"?: number | null;
  "epoch-ms"?: number | null;
  "checkpoint-ms"?: number | null;
  "checkpoint-bytes"?: number | null;
  "watermark-lag-ms"?: number | null;
  "latency-ms"?: number | null;
  "busy-ratio"?: number | null;
}

export interface Attempt {
  attempt: number;
  pid: number;
  "start-time": number;
  /** -1: it runs. */
  "end-time": number;
  duration: number;
  /** Empty: it runs. */
  outcome: string;
}

export interface PreviewRecord {
  time: number;
  subtask: number;
  text: string;
}

export interface Preview {
  /** Whether the job's options allow it. */
  enabled: boolean;
  /** The newest first. */
  records: PreviewRecord[];
}

export interface FlameNode {
  name: string;
  /** Samples in which it ran, or one that it called. */
  value: number;
  children: FlameNode[];
}

export interface FlameGraph {
  /** -1: the job has ended; -3: samples are being taken. */
  endTimestamp: number;
  data?: FlameNode;
  /** Times at which the workers were looked at. */
  ticks?: number;
}

export interface TimelineEvent {
  kind: "run" | "restore" | "checkpoint" | "savepoint" | "failure" | "rescale";
  time: number;
  /** Null: a moment, or it has not ended. */
  end: number | null;
  status: "COMPLETED" | "FAILED" | "IN_PROGRESS";
  title: string;
  detail: string;
}

export interface Timeline {
  begin: number;
  end: number;
  /** The oldest first. */
  events: TimelineEvent[];
}

export interface JobConfig {
  jid: string;
  name: string;
  "execution-config": Record<string, unknown> & { "user-config"?: Record<string, unknown> };
}

export interface Accumulators {
  "user-task-accumulators": { name: string; type: string; value: string }[];
}

export interface SavepointRow {
  id: string;
  path: string;
  "job-id"?: string | null;
  "job-name"?: string | null;
  parent: string | null;
  time: number;
  size?: number | null;
  epoch?: number | null;
  kind: "savepoint" | "checkpoint";
  format?: string | null;
  operators?: { uid: string; name: string }[];
}

export interface StateDiff {
  uid: string;
  operator?: string | null;
  state: string;
  kind: string;
  in_first: boolean;
  in_second: boolean;
  added: number;
  changed: number;
  removed: number;
  unread?: string | null;
  samples: { change: "added" | "changed" | "removed"; key?: unknown; window?: unknown; old?: unknown; new?: unknown }[];
}

export interface Program {
  id: string;
  name: string;
  uploaded: number;
  entry?: { name: string; description?: string | null }[];
}

export interface AsyncResult {
  status: { id: "IN_PROGRESS" | "COMPLETED" };
  operation?: { location?: string; "failure-cause"?: { class?: string; "stack-trace"?: string } } | null;
}

export interface TaskManager {
  id: string;
  host?: string;
  /** Subtasks that it ran in the newest epoch. */
  slotsNumber?: number;
  /** When it was last seen. */
  timeSinceLastHeartbeat?: number;
  jobs?: string[];
}

export interface WorkerSubtask {
  jid: string;
  /** Id of the stage. */
  vertex: string;
  name: string;
  subtask: number;
}

export interface WorkerDetails extends TaskManager {
  subtasks?: WorkerSubtask[];
}

export interface ThreadDump {
  threadInfos: { threadName: string; stringifiedThreadInfo: string }[];
}

/** A setting, and what it comes from (`config.yaml`, `job`, `default`), if that is known. */
export interface ConfigEntry {
  key: string;
  value: string;
  origin?: string;
}

export interface Health {
  status: string;
  leader?: boolean;
  "leader-address"?: string | null;
}
