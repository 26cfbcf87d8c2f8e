"""Job settings other than checkpoints (Flink docs, "Execution Configuration")."""

from __future__ import annotations

from typing import Any

from millrace.common.config import flink_options, options
from millrace.common.config.configuration import Configuration
from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.time.amounts import Duration

__all__ = ["ExecutionConfig"]


class ExecutionConfig:
    """Settings of a job. All times in milliseconds.

    They live in the configuration it was made with. What tunes Flink's JVM (closure cleaner,
    generic types, object reuse, snapshot compression, task cancellation) is kept and returned, and
    changes nothing: records are never copied between chained operators, and epochs end by
    themselves.

    Example:
        >>> ExecutionConfig().set_parallelism(4).get_parallelism()
        4
    """

    PARALLELISM_DEFAULT = -1
    """The parallelism that stands for the configured default."""
    PARALLELISM_UNKNOWN = -2
    """The parallelism that leaves the present one unchanged."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExecutionConfig):
            return NotImplemented
        return self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)

    def get_parallelism(self) -> int:
        """Parallelism of operators that set none."""
        return self._configuration.get(options.PARALLELISM)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the parallelism of operators that set none.

        Raises:
            ConfigurationError: it is below 1 and not one of the two constants.
        """
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(options.PARALLELISM.key)
        elif parallelism != self.PARALLELISM_UNKNOWN:
            self._configuration.set(options.PARALLELISM, parallelism)
        return self

    def get_runtime_mode(self) -> RuntimeExecutionMode:
        """Runtime mode that `StreamExecutionEnvironment.set_runtime_mode` has set: STREAMING, BATCH
        or AUTOMATIC.
        """
        return RuntimeExecutionMode[self._configuration.get(options.RUNTIME_MODE)]

    def get_max_parallelism(self) -> int:
        """The number of key groups."""
        return self._configuration.get(options.MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, which is the highest parallelism of the state."""
        self._configuration.set(options.MAX_PARALLELISM, max_parallelism)
        return self

    def get_auto_watermark_interval(self) -> int:
        """The configured interval in ms. It has no effect: generators are called after every
        batch."""
        return self._configuration.get(options.AUTO_WATERMARK_INTERVAL).to_millis()

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Store an interval in ms that has no effect, because generators are called after every
        batch. The getter returns it."""
        self._configuration.set(options.AUTO_WATERMARK_INTERVAL, Duration.of_millis(interval))
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        """Parameters of the program."""
        parameters = self._configuration.get(options.GLOBAL_JOB_PARAMETERS)
        return dict(parameters)

    def set_global_job_parameters(
        self, global_job_parameters_dict: dict[str, Any]
    ) -> ExecutionConfig:
        """Set parameters of the program; values become text."""
        texts = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        self._configuration.set(options.GLOBAL_JOB_PARAMETERS, texts)
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators without an explicit uid are allowed."""
        return self._configuration.get(flink_options.AUTO_UIDS)

    def enable_auto_generated_uids(self) -> None:
        """Allow operators without an explicit uid."""
        self._configuration.set(flink_options.AUTO_UIDS, True)

    def disable_auto_generated_uids(self) -> None:
        """Require an explicit uid for every operator, so that savepoints fit the next program."""
        self._configuration.set(flink_options.AUTO_UIDS, False)

    def get_latency_tracking_interval(self) -> int:
        """The configured interval in ms; 0 means never."""
        return self._configuration.get(flink_options.LATENCY_INTERVAL).to_millis()

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Store an interval that has no effect. The getter returns it."""
        self._configuration.set(flink_options.LATENCY_INTERVAL, Duration.of_millis(interval))
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """Whether the closure cleaner is enabled; the setting has no effect."""
        return self._configuration.get(flink_options.CLOSURE_CLEANER) != "NONE"

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Store a setting that has no effect. The getter returns it."""
        self._configuration.set(flink_options.CLOSURE_CLEANER, "RECURSIVE")
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Store a setting that has no effect. The getter returns it."""
        self._configuration.set(flink_options.CLOSURE_CLEANER, "NONE")
        return self

    def has_generic_types_disabled(self) -> bool:
        """Whether generic types are disabled; the setting has no effect."""
        return not self._configuration.get(flink_options.GENERIC_TYPES)

    def enable_generic_types(self) -> None:
        """Store a setting that has no effect. The getter returns it."""
        self._configuration.set(flink_options.GENERIC_TYPES, True)

    def disable_generic_types(self) -> None:
        """Store a setting that has no effect. The getter returns it."""
        self._configuration.set(flink_options.GENERIC_TYPES, False)

    def is_object_reuse_enabled(self) -> bool:
        """Whether object reuse is enabled; the setting has no effect."""
        return self._configuration.get(flink_options.OBJECT_REUSE)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Store a setting that has no effect, because records are never copied between chained
        operators."""
        self._configuration.set(flink_options.OBJECT_REUSE, True)
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Store a setting that has no effect, because records are never copied between chained
        operators."""
        self._configuration.set(flink_options.OBJECT_REUSE, False)
        return self

    def is_use_snapshot_compression(self) -> bool:
        """Whether compression of snapshots is enabled; the setting has no effect."""
        return self._configuration.get(flink_options.SNAPSHOT_COMPRESSION)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Store a setting that has no effect. The getter returns it."""
        self._configuration.set(flink_options.SNAPSHOT_COMPRESSION, use_snapshot_compression)
        return self

    def get_task_cancellation_interval(self) -> int:
        """The configured interval in ms, which has no effect."""
        return self._configuration.get(flink_options.CANCELLATION_INTERVAL).to_millis()

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Store an interval that has no effect. The getter returns it."""
        self._configuration.set(flink_options.CANCELLATION_INTERVAL, Duration.of_millis(interval))
        return self

    def get_task_cancellation_timeout(self) -> int:
        """The configured timeout in ms, which has no effect."""
        return self._configuration.get(flink_options.CANCELLATION_TIMEOUT).to_millis()

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Store a timeout that has no effect. The getter returns it."""
        self._configuration.set(flink_options.CANCELLATION_TIMEOUT, Duration.of_millis(timeout))
        return self
