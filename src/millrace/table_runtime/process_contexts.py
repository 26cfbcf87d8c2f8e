"""Contexts of a process table function: its tables, time and timers.

Flink: ``ProcessTableFunction.Context``, ``OnTimerContext``, ``TimeContext``, ``TableSemantics``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.time.amounts import Instant
from millrace.common.types.logical.logical_type import RowType
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.table_runtime.process_state import ProcessState
from millrace.table_runtime.process_timers import PartitionTimers

__all__ = [
    "ProcessTableContext",
    "ProcessTimerContext",
    "ProcessedEvent",
    "TableSemantics",
    "TimeContext",
]

_EPOCH = datetime(1970, 1, 1)
TIME_TYPES = (datetime, int, Instant)


@dataclass(frozen=True)
class TableSemantics:
    """A table argument of a call of a process table function.

    Attributes:
        row_type: columns of the table.
        partition: positions of the columns of PARTITION BY.
        order: positions of the columns of ORDER BY.
        time: position of the column of ``on_time``, or None.
    """

    row_type: RowType
    partition: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    time: int | None = None

    def data_type(self) -> RowType:
        """Columns of the table."""
        return self.row_type

    def partition_by_columns(self) -> list[int]:
        """Positions of the columns of PARTITION BY."""
        return list(self.partition)

    def order_by_columns(self) -> list[int]:
        """Positions of the columns of ORDER BY."""
        return list(self.order)

    def time_column(self) -> int:
        """Position of the column of ``on_time``. -1 if there is none."""
        return -1 if self.time is None else self.time


@dataclass
class ProcessedEvent:
    """The row or timer that is being processed, with times in ms.

    Attributes:
        time: time of the row or timer. None if there is no ``on_time``.
        timer: name of the timer.
    """

    time: int | None = None
    watermark: int = MIN_WATERMARK
    timer: str | None = None
    cleared: set[str] = field(default_factory=set)
    """Names of the state entries that were cleared in this call."""


class TimeContext:
    """Event time and timers, in the time type that was passed to
    `ProcessTableContext.time_context`."""

    def __init__(
        self, kind: type, zoned: bool, event: ProcessedEvent, timers: PartitionTimers | None
    ) -> None:
        self._kind, self._zoned = kind, zoned
        self._event, self._timers = event, timers

    def time(self) -> Any:
        """For a row, the value of its ``on_time`` column, or None if there is none. For a timer,
        the time for which it was set."""
        return self._shown(self._event.time)

    def current_watermark(self) -> Any:
        """Current watermark. None if there is none yet."""
        watermark = self._event.watermark
        return None if watermark == MIN_WATERMARK else self._shown(watermark)

    def table_watermark(self) -> Any:
        """Watermark of the table whose row is processed. In millrace, all tables of the call
        share one watermark."""
        return self.current_watermark()

    def register_on_time(self, name_or_time: Any, time: Any = None) -> None:
        """Set a timer of the partition: ``register_on_time(time)``. With a name, a later call
        replaces it, and `clear_timer` finds it: ``register_on_time("timeout", time)``.

        Raises:
            JobExecutionError: there are no timers here.
        """
        timers = self._known_timers()
        if time is None:
            timers.register(_millis(name_or_time))
        else:
            timers.register(_millis(time), str(name_or_time))

    def clear_timer(self, name_or_time: Any) -> None:
        """Remove a timer of the partition, by its name, or by its time if it has no name."""
        timer = name_or_time if isinstance(name_or_time, str) else _millis(name_or_time)
        self._known_timers().clear(timer)

    def clear_all_timers(self) -> None:
        """Remove all timers of the partition."""
        self._known_timers().clear_all()

    def _known_timers(self) -> PartitionTimers:
        if self._timers is None:
            raise JobExecutionError(
                "there are no timers here: the function needs a method on_timer(), and its call "
                "on_time => DESCRIPTOR(...) with a table PARTITION BY"
            )
        return self._timers

    def _shown(self, time: int | None) -> Any:
        if time is None or self._kind is int:
            return time
        if self._kind is Instant:
            return Instant.of_epoch_milli(time)
        try:
            shown = _EPOCH + timedelta(milliseconds=time)
        except OverflowError:  # the watermark behind the last row
            shown = datetime.max
        return shown.replace(tzinfo=UTC) if self._zoned else shown


def _millis(time: Any) -> int:
    if isinstance(time, Instant):
        return time.to_epoch_milli()
    if isinstance(time, datetime):
        naive = time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
        return (naive - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    raise JobExecutionError(
        f"the time of a timer is a datetime, an Instant or a number of ms, not {time!r}"
    )


class ProcessTableContext:
    """Context of ``eval``.

    Args:
        tables: table arguments by name.
        states: states by name.
        timers: timers of the function. None if it has none.
        zoned: whether times are instants (TIMESTAMP_LTZ).
    """

    def __init__(
        self,
        tables: Mapping[str, TableSemantics],
        states: Mapping[str, ProcessState],
        timers: PartitionTimers | None,
        zoned: bool,
        event: ProcessedEvent,
    ) -> None:
        self._tables, self._states, self._timers = tables, states, timers
        self._zoned, self._event = zoned, event
        self._times: dict[type, TimeContext] = {}

    def table_semantics_for(self, arg_name: str) -> TableSemantics:
        """Columns and partitioning of a table argument.

        Raises:
            JobExecutionError: the function has no such table argument.
        """
        if arg_name not in self._tables:
            raise JobExecutionError(
                f"there is no table argument {arg_name!r}; there is {', '.join(self._tables)}"
            )
        return self._tables[arg_name]

    def time_context(self, time_type: type = datetime) -> TimeContext:
        """Event time and timers, with times of the given type.

        Args:
            time_type: `datetime` (with a zone where ``on_time`` is a TIMESTAMP_LTZ), `int` (ms
                since 1970) or `Instant`.
        """
        context = self._times.get(time_type)
        if context is None:
            if time_type not in TIME_TYPES:
                raise JobDefinitionError(
                    f"time_context() takes datetime, int or Instant, not {time_type!r}"
                )
            context = TimeContext(time_type, self._zoned, self._event, self._timers)
            self._times[time_type] = context
        return context

    def clear_state(self, state_name: str) -> None:
        """Remove a state entry of the partition, and ignore later changes to its object in this
        call.

        Raises:
            JobExecutionError: the function has no such state entry.
        """
        if state_name not in self._states:
            raise JobExecutionError(
                f"there is no state {state_name!r}; there is {', '.join(self._states)}"
            )
        self._states[state_name].clear()
        self._event.cleared.add(state_name)

    def clear_all_state(self) -> None:
        """Remove all state of the partition."""
        for name in self._states:
            self.clear_state(name)

    def clear_all_timers(self) -> None:
        """Remove all timers of the partition."""
        if self._timers is not None:
            self._timers.clear_all()

    def clear_all(self) -> None:
        """Remove all state and all timers of the partition."""
        self.clear_all_state()
        self.clear_all_timers()


class ProcessTimerContext(ProcessTableContext):
    """Context of ``on_timer``."""

    def current_timer(self) -> str | None:
        """Name of the timer. None if it has no name."""
        return self._event.timer
