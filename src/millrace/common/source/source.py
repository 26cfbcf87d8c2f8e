"""Sources in the shape of Flink's FLIP-27: split, enumerator, reader.

A `Source` names where data comes from. Its `SplitEnumerator` lives in the driver and finds
*splits* (a file, a partition, a range of numbers); a `SourceReader` lives in a subtask and reads
one split. A reader is asked for records once or more in each epoch, and tells its *position*
afterwards: that position is part of the checkpoint, and a new reader created from it must go on
with the very next record. Semantics: Flink docs, "Data Sources".

Example: a complete source of the numbers below ``n``::

    class Numbers(Source[int]):
        def __init__(self, n: int) -> None:
            self.n = n

        def create_enumerator(self) -> SplitEnumerator:
            return StaticEnumerator([SourceSplit("all")])

        def create_reader(self, split, position, context):
            return NumbersReader(position or 0, self.n)

    class NumbersReader(SourceReader[int]):
        def __init__(self, start: int, end: int) -> None:
            self.next, self.end = start, end

        def read(self, max_records: int) -> Records[int]:
            start, self.next = self.next, min(self.end, self.next + max_records)
            return Records(list(range(start, self.next)))

        def position(self) -> int:
            return self.next

        def finished(self) -> bool:
            return self.next >= self.end
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.types.batch import ColumnBatch

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Boundedness(Enum):
    """Whether a source ends by itself."""

    BOUNDED = "BOUNDED"
    CONTINUOUS_UNBOUNDED = "CONTINUOUS_UNBOUNDED"


@dataclass(frozen=True)
class SourceSplit:
    """A part of the input that one reader reads; subclasses add what the reader needs.

    Must be picklable. ``split_id`` is unique within its source and stable across restarts.
    """

    split_id: str


class Records(NamedTuple, Generic[T]):
    """What one `SourceReader.read` returns: values and, if the source knows them, event times.

    ``timestamps`` are milliseconds since the epoch, one per value, or None.
    """

    values: list[T]
    timestamps: list[int] | None = None


@dataclass
class ReaderContext:
    """What a reader may ask about the subtask it runs in."""

    subtask_index: int
    parallelism: int
    current_time: Callable[[], int]
    """Processing time in milliseconds since the epoch (a manual clock in tests)."""
    shared: dict[str, Any] = field(default_factory=dict)
    """Survives from epoch to epoch in this worker, for connections; may be empty at any time."""


class SourceReader(ABC, Generic[T]):
    """Reads one split. Created where it is needed, kept open between epochs while it fits."""

    @abstractmethod
    def read(self, max_records: int) -> Records[T] | ColumnBatch:
        """At most ``max_records`` records; none when nothing is there right now. Must not wait.
        What is in columns anyway is best returned so."""

    @abstractmethod
    def position(self) -> Any:
        """Where to go on: picklable, comparable with ``==``, small."""

    def finished(self) -> bool:
        """True once the split has been read to its end and nothing can follow."""
        return False

    def next_wakeup(self, now: int) -> int | None:
        """When (ms since the epoch) records may be there again; None: poll as configured."""
        return None

    def close(self) -> None:
        """Release files and connections."""


class SplitEnumerator(ABC):
    """Finds the splits of a source; lives in the driver and is called between epochs."""

    @abstractmethod
    def discover(self, now: int) -> Sequence[SourceSplit]:
        """Splits found since the last call (``now`` in ms since the epoch). Must be quick."""

    def no_more_splits(self) -> bool:
        """True when `discover` will never find another split."""
        return True

    def max_active_splits(self) -> int | None:
        """How many splits a subtask may read at the same time; None: all it is given."""
        return None

    def next_discovery(self, now: int) -> int | None:
        """When (ms since the epoch) to call `discover` again; None: no need."""
        return None

    def snapshot_state(self) -> Any:
        """What `restore_state` needs, picklable; part of every checkpoint."""
        return None

    def restore_state(self, state: Any) -> None:
        """Take over what `snapshot_state` gave; called once, before the first `discover`."""

    def close(self) -> None:
        """Release connections."""


class Source(ABC, Generic[T_co]):
    """Where a stream comes from. Must be picklable."""

    @property
    def boundedness(self) -> Boundedness:
        """Bounded unless a subclass says otherwise."""
        return Boundedness.BOUNDED

    @abstractmethod
    def create_enumerator(self) -> SplitEnumerator:
        """The enumerator, in the driver."""

    @abstractmethod
    def create_reader(
        self, split: Any, position: Any, context: ReaderContext
    ) -> SourceReader[T_co]:
        """A reader of ``split`` that goes on at ``position`` (None: from its start)."""


class StaticEnumerator(SplitEnumerator):
    """Hands out a fixed list of splits once."""

    def __init__(self, splits: Sequence[SourceSplit]) -> None:
        self._splits = list(splits)
        self._handed_out = False

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if self._handed_out:
            return ()
        self._handed_out = True
        return self._splits

    def no_more_splits(self) -> bool:
        return self._handed_out

    def snapshot_state(self) -> bool:
        return self._handed_out

    def restore_state(self, state: bool) -> None:
        self._handed_out = state
