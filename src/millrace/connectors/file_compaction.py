"""Compaction of a file sink's parts: fewer, larger files (Flink docs, "FileSystem", Compaction).

A sink keeps what its epochs wrote apart until a part is finished, so that compaction is a rolling
policy: a part goes on until the strategy says that it is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from millrace.common.errors import JobDefinitionError
from millrace.connectors.rolling_policy import PartFileInfo, RollingPolicy

__all__ = ["CompactingRollingPolicy", "FileCompactStrategy", "FileCompactor"]

INACTIVITY = 60_000
"""Milliseconds after which a part that gets nothing more is finished: without data there may be no
checkpoints to wait for."""


class FileCompactStrategyBuilder:
    """Builds a `FileCompactStrategy`."""

    def __init__(self) -> None:
        self._strategy = FileCompactStrategy()

    def enable_compaction_on_checkpoint(
        self, num_checkpoints_before_compaction: int
    ) -> FileCompactStrategyBuilder:
        """Join the files of this number of checkpoints."""
        checkpoints = _positive("number of checkpoints", num_checkpoints_before_compaction)
        self._strategy = replace(self._strategy, checkpoints=checkpoints)
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """Join files until their size reaches this number of bytes."""
        size = _positive("size threshold", size_threshold)
        self._strategy = replace(self._strategy, size_threshold=size)
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Accepted for Flink programs, without effect: the subtask that wrote the files joins
        them."""
        threads = _positive("number of threads", num_compact_threads)
        self._strategy = replace(self._strategy, threads=threads)
        return self

    def build(self) -> FileCompactStrategy:
        """The strategy with all settings made so far.

        Raises:
            JobDefinitionError: neither checkpoints nor a size end the joining.
        """
        if self._strategy.checkpoints is None and self._strategy.size_threshold is None:
            raise JobDefinitionError(
                "a FileCompactStrategy needs enable_compaction_on_checkpoint or set_size_threshold"
            )
        return self._strategy


@dataclass(frozen=True, slots=True)
class FileCompactStrategy:
    """Conditions under which the files of a bucket are joined.

    Example:
        >>> FileCompactStrategy.builder().enable_compaction_on_checkpoint(10).build().checkpoints
        10
    """

    checkpoints: int | None = None
    size_threshold: int | None = None
    threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategyBuilder:
        """A builder of a strategy, without settings."""
        return FileCompactStrategyBuilder()

    Builder: ClassVar = FileCompactStrategyBuilder


@dataclass(frozen=True, slots=True)
class FileCompactor:
    """The way in which files are joined."""

    delimiter: bytes | None
    """Delimiter between concatenated files; None if files are not concatenated."""
    record_wise: bool = False
    """Whether the records of several files are written to a new file."""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Compactor that concatenates files, with ``file_delimiter`` between them."""
        return FileCompactor(file_delimiter or b"")

    @staticmethod
    def record_wise_file_compactor() -> FileCompactor:
        """Compactor that writes the records of all files to one file, for formats such as
        Parquet, whose files cannot be concatenated. (Flink: ``RecordWiseFileCompactor``, Java
        only.)"""
        return FileCompactor(None, record_wise=True)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Compactor that leaves each file unchanged."""
        return FileCompactor(None)


@dataclass(frozen=True, slots=True)
class CompactingRollingPolicy(RollingPolicy):
    """Keeps a part open until a compaction strategy has enough data."""

    strategy: FileCompactStrategy

    def should_roll_on_size(self, part: PartFileInfo) -> bool:
        threshold = self.strategy.size_threshold
        return threshold is not None and part.size >= threshold

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        # the checkpoint that is being made counts
        checkpoints = self.strategy.checkpoints
        enough = checkpoints is not None and part.checkpoints + 1 >= checkpoints
        return enough or self.should_roll_on_size(part)

    def roll_time(self, part: PartFileInfo) -> int:
        return part.last_update_time + INACTIVITY


def _positive(what: str, value: int) -> int:
    if value <= 0:
        raise JobDefinitionError(f"the {what} before compaction must be positive, not {value}")
    return value
