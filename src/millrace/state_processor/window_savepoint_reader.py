"""Reading the open windows of an operator (Flink docs, "State Processor API", window state)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.errors import StateError
from millrace.common.functions.base import AggregateFunction, ReduceFunction
from millrace.common.types.type_information import TypeInformation
from millrace.common.window import SlidingEventTimeWindows, WindowAssigner
from millrace.runtime.window_logic import WindowLogic
from millrace.state.snapshot_reader import SnapshotReader, StateInfo
from millrace.state_processor.functions import WindowReaderFunction
from millrace.state_processor.reader_queries import SavedOperator, WindowQuery, WindowReaderQuery
from millrace.state_processor.state_frame import SAMPLE, frame_of, frame_of_values
from millrace.state_processor.state_rows import FIXED, WINDOWED
from millrace.state_processor.state_source import StateSource
from millrace.state_processor.window_entries import WindowContents, window_table

__all__ = ["WindowSavepointReader", "saved_operator"]


class WindowSavepointReader:
    """Reads windows. Flink: class ``WindowSavepointReader``; made by `SavepointReader.window`."""

    def __init__(
        self, spark: Any, reader: SnapshotReader, assigner: WindowAssigner[Any, Any] | None
    ) -> None:
        self._spark = spark
        self._reader = reader
        self._assigner = assigner if isinstance(assigner, SlidingEventTimeWindows) else None

    def evictor(self) -> WindowSavepointReader:
        """Reader of windows with an evictor, whose elements are pairs of value and event time."""
        return self

    def read(self, uid: str, sample: int | None = SAMPLE) -> Any:
        """All windows: ``key, window_start, window_end, window, value``; the value is the
        accumulator or the list of elements."""
        return self._rows(uid, WindowLogic(), sample)

    def reduce(
        self,
        uid: str,
        reduce_function: ReduceFunction[Any] | Callable[[Any, Any], Any],
        reader_function: WindowReaderFunction | None = None,
        output_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """Read the windows of ``reduce``: the value of each window, or the results of a reader
        function."""
        logic = WindowLogic(reduce=reduce_function)
        return self._read(uid, logic, reader_function, output_type, sample)

    def aggregate(
        self,
        uid: str,
        aggregate_function: AggregateFunction[Any, Any, Any],
        reader_function: WindowReaderFunction | None = None,
        output_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """Read the windows of ``aggregate``: the result of each window, or the results of a reader
        function."""
        logic = WindowLogic(aggregate=aggregate_function)
        return self._read(uid, logic, reader_function, output_type, sample)

    def process(
        self,
        uid: str,
        reader_function: WindowReaderFunction,
        output_type: TypeInformation[Any] | None = None,
        sample: int | None = SAMPLE,
    ) -> Any:
        """Read the windows of ``process`` or ``apply``: the results of a reader function over their
        elements."""
        return self._read(uid, WindowLogic(), reader_function, output_type, sample)

    def _read(
        self,
        uid: str,
        logic: WindowLogic,
        function: WindowReaderFunction | None,
        output_type: TypeInformation[Any] | None,
        sample: int | None,
    ) -> Any:
        if function is None:
            return self._rows(uid, logic, sample)
        if not isinstance(function, WindowReaderFunction):
            raise StateError(f"a window is read by a WindowReaderFunction, got {function!r}")
        info = window_table(self._reader, uid)
        query = WindowReaderQuery(
            self._source(info),
            saved_operator(self._reader, info),
            function,
            self._contents(info, logic),
        )
        return frame_of_values(self._spark, query, output_type, sample)

    def _rows(self, uid: str, logic: WindowLogic, sample: int | None) -> Any:
        info = window_table(self._reader, uid)
        query = WindowQuery(self._source(info), info, self._contents(info, logic))
        return frame_of(self._spark, query, WINDOWED, FIXED, sample)

    def _source(self, info: StateInfo) -> StateSource:
        return StateSource.of(self._reader, info.stage, info.subtasks)

    def _contents(self, info: StateInfo, logic: WindowLogic) -> WindowContents:
        return WindowContents(info.name, logic, self._assigner)


def saved_operator(
    reader: SnapshotReader, info: StateInfo, key_type: TypeInformation[Any] | None = None
) -> SavedOperator:
    """The operator of a state."""
    names = frozenset(other.name for other in reader.states() if other.uid == info.uid)
    manifest = reader.snapshot.manifest
    name, maximum = info.operator or info.uid, manifest.max_parallelism
    return SavedOperator(info.uid, name, maximum, names, manifest.timestamp, key_type)
