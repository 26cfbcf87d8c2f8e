"""Flink's options that have little or no effect, because Spark or epochs make them unnecessary.

Those with a setter are kept and returned; the others are accepted, so that a configuration may be
taken along as it is. Names and defaults: Flink docs, "Configuration".
"""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.known_options import known
from millrace.common.time.amounts import Duration

BUFFER_TIMEOUT = known(
    ConfigOptions.key("execution.buffer-timeout.interval")
    .duration_type()
    .default_value(Duration.of_millis(5))
    .at_least(0),
    "Maximum time that records, and changes of a SQL operator, wait in a busy subtask of "
    "resident tasks until a buffer is full. An idle subtask sends them immediately. `0 ms`: "
    "no waiting; each record is processed and sent alone. Unless the option is set, records "
    "wait up to 50 ms in a worker that is hardly ever idle: it has a backlog, which larger "
    "batches make shorter. In jobs with a Spark job per epoch, buffers are sent when they are "
    "full and at the end of the epoch.",
)
BUFFER_TIMEOUT_ENABLED = known(
    ConfigOptions.key("execution.buffer-timeout.enabled").boolean_type().default_value(True),
    "Whether `execution.buffer-timeout.interval` applies. If not, resident tasks send "
    "buffers when they are full and before each barrier. In a job with a loop, idle "
    "subtasks also send them, because a record would otherwise wait at each hop.",
)
OPERATOR_CHAINING = known(
    ConfigOptions.key("pipeline.operator-chaining.enabled").boolean_type().default_value(True),
    "Whether operators run in one stage where possible.",
)
CHAIN_OTHER_MAX_PARALLELISM = known(
    ConfigOptions.key("pipeline.operator-chaining.chain-operators-with-different-max-parallelism")
    .boolean_type()
    .default_value(True),
    "Kept for Flink programs, without effect: all operators of a job share one max parallelism.",
)
OBJECT_REUSE = known(
    ConfigOptions.key("pipeline.object-reuse").boolean_type().default_value(False),
    "Kept for Flink programs, without effect: records are never copied between chained operators.",
)
CLOSURE_CLEANER = known(
    ConfigOptions.key("pipeline.closure-cleaner-level")
    .string_type()
    .default_value("RECURSIVE")
    .one_of("NONE", "TOP_LEVEL", "RECURSIVE"),
    "Kept for Flink programs, without effect: the option concerns functions of the JVM.",
)
GENERIC_TYPES = known(
    ConfigOptions.key("pipeline.generic-types").boolean_type().default_value(True),
    "Kept for Flink programs, without effect: records are Python objects.",
)
AUTO_UIDS = known(
    ConfigOptions.key("pipeline.auto-generate-uids").boolean_type().default_value(True),
    "Whether operators without an explicit uid are allowed; otherwise the job is refused.",
)
LATENCY_INTERVAL = known(
    ConfigOptions.key("metrics.latency.interval")
    .duration_type()
    .default_value(Duration.of_millis(0))
    .at_least(0),
    "Minimum time between latency markers, which measure the time from each source to each "
    "operator; `0 ms`: no markers.",
)
CANCELLATION_INTERVAL = known(
    ConfigOptions.key("task.cancellation.interval")
    .duration_type()
    .default_value(Duration.of_seconds(30)),
    "Kept for Flink programs, without effect: Spark ends tasks.",
)
CANCELLATION_TIMEOUT = known(
    ConfigOptions.key("task.cancellation.timeout")
    .duration_type()
    .default_value(Duration.of_seconds(180)),
    "Kept for Flink programs, without effect: Spark ends tasks.",
)
CHECKPOINTING_TIMEOUT = known(
    ConfigOptions.key("execution.checkpointing.timeout")
    .duration_type()
    .default_value(Duration.of_minutes(10))
    .at_least(10),
    "Kept for Flink programs, without effect: a checkpoint is written between two epochs.",
)
CHECKPOINTING_MIN_PAUSE = known(
    ConfigOptions.key("execution.checkpointing.min-pause")
    .duration_type()
    .default_value(Duration.of_millis(0))
    .at_least(0),
    "Kept for Flink programs, without effect: an interval begins when a checkpoint has ended.",
)
CHECKPOINTING_CONCURRENT = known(
    ConfigOptions.key("execution.checkpointing.max-concurrent-checkpoints")
    .int_type()
    .default_value(1)
    .at_least(1),
    "Kept for Flink programs, without effect: there is one checkpoint at a time.",
)
UNALIGNED = known(
    ConfigOptions.key("execution.checkpointing.unaligned.enabled")
    .boolean_type()
    .default_value(False),
    "Kept for Flink programs, without effect: an epoch that is a Spark job has nothing to align, "
    "and the barriers of resident tasks are always aligned.",
)
UNALIGNED_FORCED = known(
    ConfigOptions.key("execution.checkpointing.unaligned.forced")
    .boolean_type()
    .default_value(False),
    "Kept for Flink programs, without effect: an epoch that is a Spark job has nothing to align, "
    "and the barriers of resident tasks are always aligned.",
)
ALIGNED_TIMEOUT = known(
    ConfigOptions.key("execution.checkpointing.aligned-checkpoint-timeout")
    .duration_type()
    .default_value(Duration.of_millis(0))
    .at_least(0),
    "Kept for Flink programs, without effect: an epoch that is a Spark job has nothing to align, "
    "and the barriers of resident tasks are always aligned.",
)
SNAPSHOT_COMPRESSION = known(
    ConfigOptions.key("execution.checkpointing.snapshot-compression")
    .boolean_type()
    .default_value(False),
    "Kept for Flink programs, without effect: deltas of state have a format of their own.",
)
INCREMENTAL = known(
    ConfigOptions.key("execution.checkpointing.incremental").boolean_type().default_value(True),
    "Kept for Flink programs, without effect: every checkpoint is incremental.",
)
CHANGELOG = known(
    ConfigOptions.key("state.changelog.enabled").boolean_type().no_default_value(),
    "Kept for Flink programs, without effect: every epoch writes the changes of its state.",
)

OTHER_NAMES: dict[str, str] = {
    "execution.buffer-timeout": BUFFER_TIMEOUT.key,
    "execution.checkpointing.alignment-timeout": ALIGNED_TIMEOUT.key,
    "execution.checkpointing.data-inline-threshold": "millrace.state.inline-limit",
    "execution.checkpointing.externalized-checkpoint.retention": (
        "execution.checkpointing.externalized-checkpoint-retention"
    ),
    "execution.checkpointing.force-unaligned": UNALIGNED_FORCED.key,
    "execution.checkpointing.unaligned": UNALIGNED.key,
    "high-availability": "high-availability.type",
    "state.backend.changelog.enabled": CHANGELOG.key,
    "high-availability.storageDir": "high-availability.storage-dir",
    "execution.savepoint-restore-mode": "execution.state-recovery.claim-mode",
    "execution.savepoint.ignore-unclaimed-state": (
        "execution.state-recovery.ignore-unclaimed-state"
    ),
    "execution.savepoint.path": "execution.state-recovery.path",
    "millrace.resident.buffer-timeout": BUFFER_TIMEOUT.key,
    "pipeline.operator-chaining": OPERATOR_CHAINING.key,
    "restart-strategy": "restart-strategy.type",
    "state.backend": "state.backend.type",
    "state.backend.fs.memory-threshold": "millrace.state.inline-limit",
    "state.backend.incremental": INCREMENTAL.key,
    "state.backend.local-recovery": "execution.state-recovery.from-local",
    "state.checkpoints.dir": "execution.checkpointing.dir",
    "state.checkpoints.num-retained": "execution.checkpointing.num-retained",
    "state.savepoints.dir": "execution.checkpointing.savepoint-dir",
    "state.storage.fs.memory-threshold": "millrace.state.inline-limit",
    "statefun.flink-job-name": "pipeline.name",
}
"""Keys that Flink or Millrace had or has for an option, and the option's key now."""

_SCHEDULING = "Spark schedules tasks and runs shuffles"
_TABLE = "the option concerns the runtime of Flink's SQL"
_MINI_BATCH = (
    "changes that arrive together are joined in any case; `execution.buffer-timeout.interval` is "
    "their latency"
)
_CLUSTER = "there is no Flink cluster: Spark's settings begin with `spark.`"
_SERIALIZERS = "the option concerns serializers of the JVM; records are Python objects"
_CHECKPOINT_FILES = "checkpoints have their own kinds of files"
_STATE = "state backends write changes with every epoch"
_PYTHON = "Spark runs the Python workers"
_FAILOVER = "a restart returns the whole job to the last checkpoint"

WITHOUT_EFFECT: dict[str, str] = {
    "blob.": _CLUSTER,
    "classloader.": _CLUSTER,
    "client.": _CLUSTER,
    "cluster.": _CLUSTER,
    "env.": _CLUSTER,
    "execution.allow-client-job-configurations": _CLUSTER,
    "execution.async-state.": _STATE,
    "execution.attached": _CLUSTER,
    "execution.batch-shuffle-mode": _SCHEDULING,
    "execution.batch-state-backend.enabled": _SCHEDULING,
    "execution.batch.": _SCHEDULING,
    "execution.checkpointing.checkpoint-id-of-ignored-in-flight-data": "no data is in flight",
    "execution.checkpointing.checkpoints-after-tasks-finish": "epochs go on without them",
    "execution.checkpointing.checkpoints-after-tasks-finish.enabled": "epochs go on without them",
    "execution.checkpointing.cleaner.": _CHECKPOINT_FILES,
    "execution.checkpointing.create-subdir": _CHECKPOINT_FILES,
    "execution.checkpointing.file-merging.": _CHECKPOINT_FILES,
    "execution.checkpointing.interval-during-backlog": "epochs grow with the backlog",
    "execution.checkpointing.local-backup.": "see `execution.state-recovery.from-local`",
    "execution.checkpointing.prefer-checkpoint-for-recovery": _FAILOVER,
    "execution.checkpointing.storage": "checkpoints are files below a directory",
    "execution.checkpointing.unaligned.": "barriers are always aligned",
    "execution.checkpointing.write-buffer-size": _CHECKPOINT_FILES,
    "execution.embedded-rpc-retry-period": _CLUSTER,
    "execution.job-listeners": _CLUSTER,
    "execution.job-status-changed-listeners": _CLUSTER,
    "execution.program-config.": _CLUSTER,
    "execution.shutdown-on-application-finish": _CLUSTER,
    "execution.shutdown-on-attached-exit": _CLUSTER,
    "execution.sort-inputs.enabled": _SCHEDULING,
    "execution.sort-keyed-partition.memory": _SCHEDULING,
    "execution.sorted-inputs.memory": _SCHEDULING,
    "execution.state-recovery.without-channel-state.checkpoint-id": "no data is in flight",
    "execution.submit-failed-job-on-application-error": _CLUSTER,
    "execution.target": _CLUSTER,
    "fs.": "file systems come from Millrace's registry",
    "heartbeat.": _CLUSTER,
    "high-availability.jobmanager.": _CLUSTER,
    "high-availability.kubernetes.": _CLUSTER,
    "high-availability.use-old-ha-services": _CLUSTER,
    "high-availability.zookeeper.client.": "kazoo's defaults hold",
    "io.tmp.dirs": _CLUSTER,
    "jobmanager.": _CLUSTER,
    "jobstore.": "a job server's registry stores jobs in its database",
    "kubernetes.": _CLUSTER,
    "metrics.": "the available reporters and scopes have options above",
    "pekko.": _CLUSTER,
    "pipeline.auto-type-registration": _SERIALIZERS,
    "pipeline.cached-files": "SparkContext.addFile does it here",
    "pipeline.default-kryo-serializers": _SERIALIZERS,
    "pipeline.force-avro": _SERIALIZERS,
    "pipeline.force-kryo": _SERIALIZERS,
    "pipeline.force-kryo-avro": _SERIALIZERS,
    "pipeline.jobvertex-parallelism-overrides": "set_parallelism does it here",
    "pipeline.registered-kryo-types": _SERIALIZERS,
    "pipeline.registered-pojo-types": _SERIALIZERS,
    "pipeline.serialization-config": _SERIALIZERS,
    "pipeline.time-characteristic": "windows and timers name their time",
    "pipeline.vertex-description-mode": "plans show names and uids",
    "pipeline.vertex-name-include-index-prefix": "plans show names and uids",
    "pipeline.watermark-alignment.allow-unaligned-source-splits": "all readers can pause splits",
    "python.": _PYTHON,
    "query.server.": "see `rest.enabled`",
    "queryable-state.": "see `rest.enabled`",
    "rest.await-leader-timeout": _CLUSTER,
    "rest.address": _CLUSTER,
    "rest.bind-port": "see `rest.port`",
    "rest.client.": _CLUSTER,
    "rest.connection-timeout": _CLUSTER,
    "rest.flamegraph.": _CLUSTER,
    "rest.idleness-timeout": _CLUSTER,
    "rest.retry.": _CLUSTER,
    "rest.server.": _CLUSTER,
    "restart-strategy.exponential-delay.attempts-before-reset-backoff": "it restarts for ever",
    "scheduler-mode": _SCHEDULING,
    "security.": _CLUSTER,
    "slot.": _SCHEDULING,
    "slotmanager.": _SCHEDULING,
    "state.backend.async": _STATE,
    "state.backend.changelog.": _STATE,
    "state.backend.cleanup-": _STATE,
    "state.backend.forst.": "the backends are `hashmap` and `rocksdb`",
    "state.backend.latency-track.": _STATE,
    "state.backend.rocksdb.": "RocksDB is tuned by the options listed here",
    "state.changelog.": _STATE,
    "state.checkpoint-storage": "checkpoints are files below a directory",
    "state.checkpoint.cleaner.": _CHECKPOINT_FILES,
    "state.checkpoints.create-subdir": _CHECKPOINT_FILES,
    "state.latency-track.": _STATE,
    "state.size-track.": _STATE,
    "state.storage.fs.write-buffer-size": _CHECKPOINT_FILES,
    "state.ttl.": _STATE,
    "statefun.feedback.memory.size": "a loop keeps a bounded number of messages in memory",
    "statefun.message.": "messages of functions are texts and bytes",
    "statefun.module.global-config.": "a Python module reads its own configuration",
    "sql-client.": "`millrace sql` reads only `execution.result-mode` and "
    "`execution.max-table-result.rows`, from `SET`",
    "table.asynchronous.": _TABLE,
    "table.catalog-modification.": _TABLE,
    "table.catalog-store.": _TABLE,
    "table.column-expansion-strategy": _TABLE,
    "table.display.": _TABLE,
    "table.exec.async-agg.": _TABLE,
    "table.exec.async-lookup.": _TABLE,
    "table.exec.async-ml-predict.": _TABLE,
    "table.exec.async-state.": _TABLE,
    "table.exec.async-table.": _TABLE,
    "table.exec.async-vector-search.": _TABLE,
    "table.exec.deduplicate.": _MINI_BATCH,
    "table.exec.disabled-operators": _TABLE,
    "table.exec.interval-join.": _TABLE,
    "table.exec.mini-batch.": _MINI_BATCH,
    "table.exec.operator-fusion-codegen.": _TABLE,
    "table.exec.rank.": _TABLE,
    "table.exec.resource.": _TABLE,
    "table.exec.sink.keyed-shuffle": "rows are distributed by the sink's key where it needs that",
    "table.exec.simplify-operator-name-enabled": _TABLE,
    "table.exec.sort.": _TABLE,
    "table.exec.spill-compression.": _TABLE,
    "table.exec.uid.": "uids of SQL operators are derived from the query",
    "table.exec.window-agg.": _TABLE,
    "table.generated-code.": _TABLE,
    "table.optimizer.": "there is one plan for each query",
    "table.plan.": _TABLE,
    "table.resources.": _TABLE,
    "task.": _SCHEDULING,
    "taskmanager.": _CLUSTER,
    "web.": _CLUSTER,
    "yarn.": _CLUSTER,
    "zookeeper.": _CLUSTER,
}
"""Keys of Flink's that are accepted without effect, and why; those that end in a dot or a hyphen
stand for all that begin so."""

_PREFIXES = tuple(key for key in WITHOUT_EFFECT if key.endswith((".", "-")))


def is_without_effect(key: str) -> bool:
    """Whether a key of Flink's is accepted but has no effect."""
    return key in WITHOUT_EFFECT or key.startswith(_PREFIXES)
