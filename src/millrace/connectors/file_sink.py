"""A sink that writes files, exactly once. Flink docs: "FileSystem", File Sink."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Self, cast

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import BulkWriterFactory, Encoder, JoiningBulkWriterFactory
from millrace.common.sink import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    SupportsOrphanSweep,
    WriterContext,
)
from millrace.connectors.bucket_assigner import (
    BucketAssigner,
    BucketContext,
    CallableBucketAssigner,
)
from millrace.connectors.file_committer import FileCommitter
from millrace.connectors.file_compaction import (
    CompactingRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
)
from millrace.connectors.file_writer import FileSinkSettings, FileWriter
from millrace.connectors.orphans import sweep_orphans, work_files_in_use
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.connectors.part_file import FileWriterState
from millrace.connectors.part_writer import BulkParts, PartFormat, RowParts
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.filesystem.registry import resolved

__all__ = ["BulkFormatBuilder", "FileSink", "RowFormatBuilder", "StreamingFileSink"]


class FileSink(Sink[Any], SupportsOrphanSweep):
    """Writes part files below a path; readers see each part once, whole, after its checkpoint.

    Until then parts have names that begin with a dot, which Spark, Flink and Hive ignore. Part
    files are called ``<prefix>-<run>-<subtask>-<counter><suffix>``. Driver and workers must see
    the same path: with several machines, a shared mount.

    >>> from millrace.formats.json import JsonLinesEncoder
    >>> sink = (
    ...     FileSink.for_row_format("/data/out", JsonLinesEncoder())
    ...     .with_bucket_assigner(lambda value, context: f"day={value['day']}")
    ...     .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=64 << 20))
    ...     .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".json").build())
    ...     .build()
    ... )
    """

    def __init__(self, settings: FileSinkSettings) -> None:
        self._settings = settings
        self.takes = settings.takes

    @staticmethod
    def for_row_format(
        base_path: str | os.PathLike[str], encoder: Encoder[Any]
    ) -> RowFormatBuilder:
        """Builder for parts that an encoder writes record by record: text, CSV, JSON lines.

        By default a part ends after 128 MiB, 60 s, or 60 s without a record.

        Raises:
            JobDefinitionError: not an encoder.
            UnsupportedFileSystemSchemeError: the path is of another file system.
        """
        if not isinstance(encoder, Encoder):
            raise JobDefinitionError(
                f"for_row_format takes an Encoder, for example Encoder.simple_string_encoder(), "
                f"CsvEncoder or JsonLinesEncoder; got {encoder!r}"
            )
        return RowFormatBuilder(base_path, RowParts(encoder))

    @staticmethod
    def for_bulk_format(
        base_path: str | os.PathLike[str], writer_factory: BulkWriterFactory[Any]
    ) -> BulkFormatBuilder:
        """Builder for parts that are written as a whole, such as Parquet: one per checkpoint.

        Raises:
            JobDefinitionError: not a writer factory.
            UnsupportedFileSystemSchemeError: the path is of another file system.
        """
        if not isinstance(writer_factory, BulkWriterFactory):
            raise JobDefinitionError(
                "for_bulk_format takes a BulkWriterFactory, for example "
                f"ParquetBulkWriters.for_row_type(row_type); got {writer_factory!r}"
            )
        return BulkFormatBuilder(base_path, BulkParts(writer_factory))

    @property
    def settings(self) -> FileSinkSettings:
        """Settings that the builder collected."""
        return self._settings

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return FileWriter(self._settings, context, state)

    def merge_writer_states(self, states: Sequence[FileWriterState]) -> FileWriterState:
        parts = tuple(part for state in states for part in state.parts)
        return FileWriterState(max(state.next_counter for state in states), parts)

    def create_committer(self, context: CommitterContext) -> Committer:
        return FileCommitter(self._settings.base_path)

    def work_files(self, state: FileWriterState | None) -> Collection[str]:
        return sorted(work_files_in_use([state], ()))

    def sweep(self, in_use: Collection[str], run_ids: Collection[str], older_than: int) -> None:
        sweep_orphans(self._settings.base_path, older_than, in_use, run_ids=run_ids)


StreamingFileSink = FileSink


class BulkFormatBuilder:
    """Collects the options of a `FileSink`; its parts end with each checkpoint."""

    def __init__(self, base_path: str | os.PathLike[str], part_format: PartFormat) -> None:
        self._settings = FileSinkSettings(
            resolved(base_path),
            part_format,
            BucketAssigner.date_time_bucket_assigner(),
            RollingPolicy.on_checkpoint_rolling_policy(),
            OutputFileConfig(),
        )
        self._compacting: FileCompactStrategy | None = None

    def with_bucket_assigner(
        self, bucket_assigner: BucketAssigner[Any] | Callable[[Any, BucketContext], str]
    ) -> Self:
        """Choose directories with an assigner, or a function of the value and a `BucketContext`.

        Raises:
            JobDefinitionError: the argument is neither.
        """
        if not isinstance(bucket_assigner, BucketAssigner):
            if not callable(bucket_assigner):
                raise JobDefinitionError(f"{bucket_assigner!r} is not a bucket assigner")
            bucket_assigner = CallableBucketAssigner(bucket_assigner)
        self._settings = replace(self._settings, bucket_assigner=bucket_assigner)
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        """Choose the prefix and suffix of the part files."""
        self._settings = replace(self._settings, output_file_config=output_file_config)
        return self

    def with_rolling_policy(self, policy: RollingPolicy) -> Self:
        """Choose the rolling policy, which ends parts.

        Raises:
            JobDefinitionError: not a policy, or one that bulk formats cannot follow.
        """
        if policy != RollingPolicy.on_checkpoint_rolling_policy():
            raise JobDefinitionError(
                "bulk formats such as Parquet cannot continue a file in another epoch, so "
                "they take RollingPolicy.on_checkpoint_rolling_policy() only"
            )
        return self

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
        """Join the files of a bucket before they are published; the strategy replaces the rolling
        policy. A file holds the records that one subtask wrote to the bucket in one epoch.

        Raises:
            JobDefinitionError: they are none, or files of a bulk format would be concatenated or
                cannot be joined.
        """
        if not isinstance(strategy, FileCompactStrategy) or not isinstance(
            compactor, FileCompactor
        ):
            raise JobDefinitionError(
                "enable_compact() takes a FileCompactStrategy and a FileCompactor, got "
                f"{strategy!r} and {compactor!r}"
            )
        if compactor.delimiter is not None or compactor.record_wise:
            self._compact(strategy, compactor)
        return self

    def _compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> None:
        part_format = self._settings.part_format
        assert isinstance(part_format, BulkParts)
        if not compactor.record_wise:
            raise JobDefinitionError(
                "files of bulk formats such as Parquet cannot be concatenated: use "
                "FileCompactor.record_wise_file_compactor()"
            )
        if not isinstance(part_format.factory, JoiningBulkWriterFactory):
            raise JobDefinitionError(
                f"files of {type(part_format.factory).__name__} cannot be joined: make it a "
                "JoiningBulkWriterFactory, with a method join()"
            )
        part_format.factory.require_joinable()
        self._compacting = strategy

    def disable_compact(self) -> Self:
        """Leave the end of parts to the rolling policy (the default)."""
        self._compacting = None
        return self

    def with_bucket_check_interval(self, interval: int) -> Self:
        """Flink's interval for checks of open parts. It has no effect here, because a part that
        is due starts an epoch itself."""
        return self

    def build(self) -> FileSink:
        """The sink with all settings made so far."""
        if self._compacting is None:
            return FileSink(self._settings)
        policy = CompactingRollingPolicy(self._compacting)
        return FileSink(replace(self._settings, rolling_policy=policy))


class RowFormatBuilder(BulkFormatBuilder):
    """Collects the options of a `FileSink`; its parts may grow over many checkpoints."""

    def __init__(self, base_path: str | os.PathLike[str], part_format: PartFormat) -> None:
        super().__init__(base_path, part_format)
        self.with_rolling_policy(RollingPolicy.default_rolling_policy())

    def _compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> None:
        # records that an encoder writes one after the other are joined as bytes in any case
        row_parts = cast("RowParts", self._settings.part_format)
        row_parts = replace(row_parts, delimiter=compactor.delimiter or b"")
        self._settings = replace(self._settings, part_format=row_parts)
        self._compacting = strategy

    def with_rolling_policy(self, policy: RollingPolicy) -> Self:
        if not isinstance(policy, RollingPolicy):
            raise JobDefinitionError(f"{policy!r} is not a RollingPolicy")
        self._settings = replace(self._settings, rolling_policy=policy)
        return self
