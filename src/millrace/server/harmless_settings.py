"""Settings that cannot make a program run code other than its own.

With ``--programs`` and without ``--allow-uploads``, an owner of the operate token runs the programs
that exist, and nothing else. Many settings reach further: options of the JVM, jars and plugins
of Spark, Python files, interpreters and variables of the environment, the class of a reporter, and
the places that pickled state is read from. So a setting is allowed here by its name; a new one is
not, until somebody has thought about it.
"""

from __future__ import annotations

__all__ = ["beyond_program"]

_PREFIXES = (
    "execution.buffer-timeout.",
    "millrace.buffer.",
    "millrace.epoch.",
    "metrics.scope.",
    "millrace.logging.",
    "millrace.resident.",
    "pipeline.global-job-parameters.",
    "restart-strategy.",
    "table.exec.",
    "table.optimizer.",
    "user.",
)
_KEYS = frozenset(
    {
        "execution.checkpointing.aligned-checkpoint-timeout",
        "execution.checkpointing.externalized-checkpoint-retention",
        "execution.checkpointing.incremental",
        "execution.checkpointing.interval",
        "execution.checkpointing.max-concurrent-checkpoints",
        "execution.checkpointing.min-pause",
        "execution.checkpointing.mode",
        "execution.checkpointing.num-retained",
        "execution.checkpointing.snapshot-compression",
        "execution.checkpointing.timeout",
        "execution.checkpointing.tolerable-failed-checkpoints",
        "execution.checkpointing.unaligned.enabled",
        "execution.checkpointing.unaligned.forced",
        "execution.runtime-mode",
        "execution.state-recovery.claim-mode",
        "execution.state-recovery.from-local",
        "execution.state-recovery.ignore-unclaimed-state",
        "execution.state-recovery.path",
        "metrics.latency.interval",
        "millrace.alerts.checkpoint-age",
        "millrace.alerts.failed",
        "millrace.alerts.lag",
        "millrace.alerts.restarts",
        "millrace.alerts.restarts-window",
        "metrics.reporters",
        "millrace.available-now",
        "millrace.checkpoint.resume-from",
        "millrace.executor",
        "millrace.resume",
        "millrace.source.poll-interval",
        "millrace.spark.tasks",
        "millrace.state-recovery.keep-claimed",
        "millrace.state.inline-limit",
        "millrace.state.memory-cap",
        "millrace.state.rocksdb.cache-size",
        "parallelism.default",
        "pipeline.auto-generate-uids",
        "pipeline.auto-watermark-interval",
        "pipeline.closure-cleaner-level",
        "pipeline.generic-types",
        "pipeline.global-job-parameters",
        "pipeline.max-parallelism",
        "pipeline.name",
        "pipeline.object-reuse",
        "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
        "pipeline.operator-chaining.enabled",
        "sink.committer.retries",
        "spark.cores.max",
        "spark.driver.cores",
        "spark.driver.memory",
        "spark.dynamicAllocation.enabled",
        "spark.dynamicAllocation.maxExecutors",
        "spark.dynamicAllocation.minExecutors",
        "spark.executor.cores",
        "spark.executor.instances",
        "spark.executor.memory",
        "spark.scheduler.pool",
        "spark.task.cpus",
        "state.backend.rocksdb.block.cache-size",
        "state.backend.rocksdb.bloom-filter.bits-per-key",
        "state.backend.rocksdb.predefined-options",
        "state.backend.rocksdb.thread.num",
        "state.backend.rocksdb.use-bloom-filter",
        "state.backend.rocksdb.writebuffer.count",
        "state.backend.rocksdb.writebuffer.size",
        "state.backend.type",
        "state.changelog.enabled",
        "statefun.async.max-per-task",
        "table.builtin-catalog-name",
        "table.builtin-database-name",
        "table.dml-sync",
        "table.local-time-zone",
        "table.ml.model-change",
        "table.plan.force-recompile",
        "table.sql-dialect",
        "task.cancellation.interval",
        "task.cancellation.timeout",
    }
)


def beyond_program(settings: dict[str, str]) -> list[str]:
    """Keys of the settings that may run code other than the program's, sorted.

    Example:
        >>> beyond_program({"parallelism.default": "2", "spark.jars": "mine.jar"})
        ['spark.jars']
    """
    return sorted(key for key in settings if key not in _KEYS and not key.startswith(_PREFIXES))
