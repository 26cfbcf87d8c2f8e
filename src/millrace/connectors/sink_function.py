"""Calling a `SinkFunction` for each record. Flink docs: "Data Sinks"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.functions import SinkFunction
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.watermark_generator import MIN_WATERMARK
from millrace.connectors.sink_runtime_context import SinkRuntimeContext

__all__ = ["SinkFunctionSink"]


class SinkFunctionSink(Sink[Any]):
    """Hands each record to a function, **at least once**: a repeated epoch calls it again.

    What the function does must be done when it returns: there is no later moment to flush. An
    exception fails the epoch. The function is opened once per worker process, where the subtasks
    that run there share it, and closed at the end of the input.

    Args:
        function: a `SinkFunction`, or a callable that takes the record.

    Raises:
        JobDefinitionError: it is neither.

    >>> got = []
    >>> context = WriterContext(0, 1, run_id="r", attempt="a", epoch=1, now=0)
    >>> writer = SinkFunctionSink(got.append).create_writer(context, None)
    >>> writer.write(["to", "be"], None)
    >>> got
    ['to', 'be']
    """

    def __init__(self, function: SinkFunction[Any] | Callable[[Any], object]) -> None:
        if not isinstance(function, SinkFunction) and not callable(function):
            raise JobDefinitionError(
                f"add_sink takes a SinkFunction or a callable with one argument, not {function!r}"
            )
        self._function = function
        self._opened = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": False}

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        function = self._function
        if not isinstance(function, SinkFunction):
            return CallableWriter(function)
        if not self._opened:
            function.open(SinkRuntimeContext(context.subtask_index, context.parallelism))
            self._opened = True
        return SinkFunctionWriter(function, context.now, self._close)

    def _close(self) -> None:
        if self._opened and isinstance(self._function, SinkFunction):
            self._opened = False
            self._function.close()


class CallableWriter(SinkWriter[Any]):
    """Calls a function with each value."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        for value in values:
            self._function(value)


class SinkFunctionWriter(SinkWriter[Any]):
    """Calls `SinkFunction.invoke` with each value."""

    def __init__(
        self, function: SinkFunction[Any], now: int, close_function: Callable[[], None]
    ) -> None:
        self._function = function
        self._now = now
        self._close_function = close_function

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        context = SinkFunctionContext(self._now)
        invoke = self._function.invoke
        times: Iterable[int | None] = timestamps or [None] * len(values)
        for value, context.event_timestamp in zip(values, times, strict=True):
            invoke(value, context)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if end_of_input:
            self._close_function()
        return ()


class SinkFunctionContext(SinkFunction.Context):
    """One object for all records: do not keep it."""

    def __init__(self, now: int) -> None:
        self._now = now
        self.event_timestamp: int | None = None

    def current_processing_time(self) -> int:
        return self._now

    def current_watermark(self) -> int:
        """Unknown here: a writer is not told watermarks."""
        return MIN_WATERMARK

    def timestamp(self) -> int | None:
        return self.event_timestamp
