"""Sources in the shape of Flink's FLIP-27: split, enumerator, reader.

A `Source` names where data comes from. Its `SplitEnumerator` lives in the driver and finds
*splits* (a file, a partition, a range of numbers); a `SourceReader` lives in each subtask and reads
the splits that the subtask is assigned. After each epoch the reader returns its *position* in each
split: that is part of the checkpoint, and a new reader that gets the split at that position must
go on with the very next record. Semantics: Flink docs, "Data Sources"; FLIP-27.

Where splits have nothing to do with each other (files, ranges, lanes of a generator), a
`SplitSource` is simpler: it makes a `SplitReader` for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from millrace.common.source.source_reader import ReaderContext, SourceReader
from millrace.common.source.split_enumerator import SplitEnumerator

T_co = TypeVar("T_co", covariant=True)


class Boundedness(Enum):
    """Whether a source ends by itself."""

    BOUNDED = "BOUNDED"
    CONTINUOUS_UNBOUNDED = "CONTINUOUS_UNBOUNDED"


class Source(ABC, Generic[T_co]):
    """Origin of a stream. Must be picklable."""

    @property
    def boundedness(self) -> Boundedness:
        """Whether the source is bounded, which it is by default."""
        return Boundedness.BOUNDED

    @property
    def supports_available_now(self) -> bool:
        """Whether a run can read the data available at its start, and end (see
        `SplitEnumerator.prepare_for_available_now`). Bounded sources can."""
        return self.boundedness is Boundedness.BOUNDED

    @property
    def is_delivered(self) -> bool:
        """Whether Spark jobs of the driver bring the data to the subtasks. Resident tasks cannot
        have such a source."""
        return False

    @property
    def requires_checkpoints(self) -> bool:
        """Whether the source discards data that a complete checkpoint covers. Its job needs a
        directory for checkpoints: otherwise the death of the process would lose records. False by
        default."""
        return False

    @property
    def acknowledges_records(self) -> bool:
        """Whether readers tell another system that it may delete the records that a complete
        checkpoint covers. Such readers are notified of a checkpoint before they read beyond it,
        because otherwise they would acknowledge records that are in no checkpoint. The default is
        the value of `requires_checkpoints`.
        """
        return self.requires_checkpoints

    @abstractmethod
    def create_enumerator(self) -> SplitEnumerator:
        """The enumerator, in the driver."""

    @abstractmethod
    def create_reader(self, context: ReaderContext) -> SourceReader[Any]:
        """The reader of a subtask; `SourceReader.add_splits` gives it its splits."""
