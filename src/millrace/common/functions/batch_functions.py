"""Vectorised functions, which take whole batches of records; Flink's DataStream API has none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from millrace.common.functions.base import Function
from millrace.common.state.column_descriptors import ColumnDescriptor
from millrace.common.time.time_domain import TimeDomain

__all__ = ["BatchProcessFunction", "ColumnTimerService", "MapBatchFunction"]


class MapBatchFunction(Function):
    """A function for `DataStream.map_batches` with a life cycle.

    Example:
        >>> class Rest(MapBatchFunction):
        ...     def map_batch(self, batch):
        ...         return batch[1:]
        >>> Rest().map_batch([1, 2, 3])
        [2, 3]
    """

    @abstractmethod
    def map_batch(self, batch: Any) -> Any:
        """The batch that replaces ``batch``: one, an iterator of several, or None."""


class ColumnTimerService(ABC):
    """Clocks, and timers for the keys of a batch's rows.

    Columns have a time (ms since 1970) for each row, null for none.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Current processing time, in ms since the epoch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Current watermark, in ms since the epoch."""

    @abstractmethod
    def register_event_time_timers(self, times: Any) -> None:
        """Register an event-time timer for each row's key; a timer that exists already stays."""

    @abstractmethod
    def register_processing_time_timers(self, times: Any) -> None:
        """Register a processing-time timer for each row's key; a timer that exists already
        stays."""

    @abstractmethod
    def delete_event_time_timers(self, times: Any) -> None:
        """Delete event-time timers of the rows' keys."""

    @abstractmethod
    def delete_processing_time_timers(self, times: Any) -> None:
        """Delete processing-time timers of the rows' keys."""


class BatchProcessFunction(Function):
    """A function for `KeyedStream.process_batch`: state per key in columns, and timers.

    Example:
        >>> import pyarrow as pa
        >>> from millrace.datastream.state import ReducingColumnDescriptor
        >>> class Count(BatchProcessFunction):
        ...     def states(self):
        ...         return [ReducingColumnDescriptor("count", pa.int64())]
        ...     def process_batch(self, batch, ctx):
        ...         return batch.append_column("count", ctx.state("count").accumulate(1))
    """

    class Context(ABC):
        """State, timers and rows of the current batch."""

        @abstractmethod
        def state(self, name: str) -> Any:
            """The state with the given name; its columns are aligned with the rows of the batch.

            ``get()`` gives a column, null where a key has nothing. ``put(column)`` sets values, of
            rows with the same key the last one; null clears. ``add(column)`` adds to what is
            there and skips nulls. ``accumulate(column)`` adds too, and gives what each row's key
            has after this row. ``clear(mask)`` forgets the keys of the rows where the mask is true,
            by default of all.
            """

        @abstractmethod
        def last_rows(self) -> Any:
            """Positions of the last row of each key in this batch, ascending.
            ``batch.take(ctx.last_rows())`` thus has one row for every key.
            """

        @abstractmethod
        def timer_service(self) -> ColumnTimerService:
            """Clocks and timers."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Time domain of the timers in `BatchProcessFunction.on_timer`."""

    def states(self) -> Sequence[ColumnDescriptor]:
        """Descriptors of the function's states; none by default."""
        return ()

    @abstractmethod
    def process_batch(self, batch: Any, ctx: Context) -> Any:
        """The output for a batch: one batch, an iterator of several, or None."""

    def on_timer(self, timers: Any, ctx: Context) -> Any:
        """The output for timers that fire.

        Args:
            timers: a batch of the key's columns and the column ``timestamp``, in the order of time.
                A key has one row for each of its due timers. Timers that this call registers,
                and that are due already, come in another batch.
            ctx: context whose rows are the rows of ``timers``.
        """
