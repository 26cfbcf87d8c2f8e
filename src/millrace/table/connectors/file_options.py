"""Options of tables over files, and the sinks made from them.

Flink docs: "FileSystem SQL Connector", Partition Commit: policy ``success-file``.
"""

from __future__ import annotations

from typing import Any

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.config.memory_size import MemorySize
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import BulkWriterFactory, SerializationSchema
from millrace.common.sink import Sink
from millrace.common.time.amounts import Duration
from millrace.connectors.bucket_assigner import BucketAssigner
from millrace.connectors.file_compaction import FileCompactor, FileCompactStrategy
from millrace.connectors.file_sink import BulkFormatBuilder, FileSink
from millrace.connectors.marking_file_sink import MarkingFileSink
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.formats.message_lines import MessageLinesEncoder
from millrace.planner.execution.table_factory import OptionValues

__all__ = ["bulk_sink", "row_sink"]

PATH = ConfigOptions.key("path").string_type().no_default_value()
FORMAT = ConfigOptions.key("format").string_type().no_default_value()
MONITOR = ConfigOptions.key("source.monitor-interval").duration_type().no_default_value()
COMMIT_POLICY = (
    ConfigOptions.key("sink.partition-commit.policy.kind")
    .string_type()
    .no_default_value()
    .one_of("success-file")
)
COMMIT_TRIGGER = (
    ConfigOptions.key("sink.partition-commit.trigger")
    .string_type()
    .default_value("process-time")
    .one_of("process-time")
)
SUCCESS_FILE = (
    ConfigOptions.key("sink.partition-commit.success-file.name")
    .string_type()
    .default_value("_SUCCESS")
)
PARTITION_COMMIT: tuple[ConfigOption[Any], ...] = (COMMIT_POLICY, COMMIT_TRIGGER, SUCCESS_FILE)
ROLLING_SIZE = ConfigOptions.key("sink.rolling-policy.file-size").memory_type().no_default_value()
ROLLOVER = (
    ConfigOptions.key("sink.rolling-policy.rollover-interval").duration_type().no_default_value()
)
INACTIVITY = (
    ConfigOptions.key("sink.rolling-policy.inactivity-interval").duration_type().no_default_value()
)
COMPACTION = ConfigOptions.key("auto-compaction").boolean_type().default_value(False)
COMPACTION_SIZE = ConfigOptions.key("compaction.file-size").memory_type().no_default_value()
COMPACTING: tuple[ConfigOption[Any], ...] = (COMPACTION, COMPACTION_SIZE)
ROLLING: tuple[ConfigOption[Any], ...] = (ROLLING_SIZE, ROLLOVER, INACTIVITY)
"""Options of line formats, whose files may grow over several checkpoints."""

_HALF_HOUR = Duration.of_minutes(30)
_PART_SIZE = 128 << 20


def bulk_sink(
    path: str,
    writers: BulkWriterFactory[Any],
    assigner: BucketAssigner[Any],
    options: OptionValues,
    ordinal: int = 0,
) -> Sink[Any]:
    """Sink of files that are finished at each checkpoint; with compaction, files of several
    checkpoints are joined.

    Args:
        ordinal: number of the sink in its job, from 0.
    """
    builder = FileSink.for_bulk_format(path, writers)
    strategy = _compaction(options)
    if strategy is not None:
        builder.enable_compact(strategy, FileCompactor.record_wise_file_compactor())
    return _built(builder, assigner, options, ordinal)


def row_sink(
    path: str,
    schema: SerializationSchema[Any],
    assigner: BucketAssigner[Any],
    options: OptionValues,
    ordinal: int = 0,
) -> Sink[Any]:
    """Sink of files of lines; each file is finished at a checkpoint, unless the options set sizes
    or times for this.

    Args:
        ordinal: number of the sink in its job, from 0.
    """
    builder = FileSink.for_row_format(path, MessageLinesEncoder(schema))
    size, over, idle = (options.get(option) for option in (ROLLING_SIZE, ROLLOVER, INACTIVITY))
    strategy = _compaction(options, size)
    if strategy is not None:
        builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    elif (size, over, idle) != (None, None, None):
        policy = RollingPolicy.default_rolling_policy(
            part_size=_PART_SIZE if size is None else size,
            rollover_interval=over or _HALF_HOUR,
            inactivity_interval=idle or _HALF_HOUR,
        )
        builder.with_rolling_policy(policy)
    else:
        builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    return _built(builder, assigner, options, ordinal)


def _compaction(
    options: OptionValues, part_size: MemorySize | None = None
) -> FileCompactStrategy | None:
    """Compaction of the files of checkpoints; None if there is none."""
    size = options.get(COMPACTION_SIZE)
    if not options.get(COMPACTION):
        if size is not None:
            raise JobDefinitionError(f"'{COMPACTION_SIZE.key}' needs '{COMPACTION.key}' = 'true'")
        return None
    wanted = size or part_size
    threshold = _PART_SIZE if wanted is None else wanted.get_bytes()
    return FileCompactStrategy.builder().set_size_threshold(threshold).build()


def _built(
    builder: BulkFormatBuilder,
    assigner: BucketAssigner[Any],
    options: OptionValues,
    ordinal: int,
) -> Sink[Any]:
    names = OutputFileConfig.builder().with_part_suffix(f".{options.get(FORMAT)}")
    if ordinal:
        # another sink of the job may write to the same directory
        names.with_part_prefix(f"part-{ordinal}")
    builder.with_bucket_assigner(assigner).with_output_file_config(names.build())
    sink = builder.build()
    if options.get(COMMIT_POLICY) is None:
        return sink
    return MarkingFileSink(sink.settings, options.get(SUCCESS_FILE))
