"""A source of records, watermarks and an end that a test pushes into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from millrace.common.errors import JobDefinitionError
from millrace.common.source import (
    Boundedness,
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.time.watermark_strategy import (
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from millrace.common.types.batch import RowBatch
from millrace.datastream.stream import DataStream
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")


class _Watermark(NamedTuple):
    """A pushed watermark, which travels among the records until an operator removes it from the
    stream."""

    timestamp: int


class _Entry(NamedTuple):
    value: Any
    timestamp: int | None

    @property
    def timed(self) -> bool:
        """Whether the entry has an event time; a watermark counts as having one."""
        return self.timestamp is not None


@dataclass(eq=False)
class _Log:
    """Log of all pushed entries, which a failed epoch reads again."""

    entries: list[_Entry] = field(default_factory=list)
    ended: bool = False


class PushedSource(Generic[T]):
    """One source of a `MiniJob`.

    Args:
        env: environment of the source's stream.
        name: its name.
    """

    def __init__(self, env: StreamExecutionEnvironment, name: str) -> None:
        self._log = _Log()
        self._name = name
        source = _LogSource(_LogSource.register(self._log))
        strategy = WatermarkStrategy.for_generator(_PushedWatermarks)
        pushed = env.from_source(source, strategy, name).set_parallelism(1)
        unpacked = pushed.flat_map(_records).name(f"{name}: records").set_parallelism(1)
        self.stream: DataStream[T] = unpacked
        """Stream with which the pipeline under test begins."""

    def push(self, *values: T, timestamp: int | None = None) -> None:
        """Push records, all with the same event time (ms since the Unix epoch; None for none)."""
        self._add(*(_Entry(value, timestamp) for value in values))

    def push_watermark(self, timestamp: int) -> None:
        """Push a watermark (ms since the Unix epoch)."""
        self._add(_Entry(_Watermark(timestamp), 0))

    def end(self) -> None:
        """End the source; event time goes to its end."""
        self._log.ended = True

    def _add(self, *entries: _Entry) -> None:
        if self._log.ended:
            raise JobDefinitionError(f"source '{self._name}' has ended; push before end()")
        self._log.entries.extend(entries)


class _LogSource(SplitSource[Any]):
    """Source that finds its log by a number, because workers get a copy of the program but must
    not copy the log."""

    _logs: ClassVar[WeakValueDictionary[int, _Log]] = WeakValueDictionary()
    _numbers: ClassVar[Iterator[int]] = count()

    def __init__(self, number: int) -> None:
        self._number = number

    @classmethod
    def register(cls, log: _Log) -> int:
        """The number of a log."""
        number = next(cls._numbers)
        cls._logs[number] = log
        return number

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit("pushed")])

    def create_split_reader(
        self, split: Any, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        return _LogReader(self._logs[self._number], position or 0)


class _LogReader(SplitReader[Any]):
    def __init__(self, log: _Log, position: int) -> None:
        self._log = log
        self._position = position

    def read(self, max_records: int) -> RowBatch[Any]:
        waiting = self._log.entries[self._position : self._position + max_records]
        for timed, group in groupby(waiting, lambda entry: entry.timed):
            entries = list(group)
            self._position += len(entries)
            times = [entry.timestamp or 0 for entry in entries] if timed else None
            return RowBatch([entry.value for entry in entries], times)
        return RowBatch([])

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return self._log.ended and self._position >= len(self._log.entries)

    def next_wakeup(self, now: int) -> int:
        # the test decides when the next epoch is, not the clock
        return 0


class _PushedWatermarks(WatermarkGenerator[Any]):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if isinstance(event, _Watermark):
            output.emit_watermark(event.timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Do nothing: watermarks are pushed."""


def _records(value: Any) -> tuple[Any, ...]:
    return () if isinstance(value, _Watermark) else (value,)
