"""`PartitionTimers`: named and unnamed timers of a process table function.

A timer is an entry of a `TimerQueue`; which ones a partition has is kept beside it, by name, or by
time for those without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.runtime.current_key import CurrentKey
from millrace.runtime.timers import TimerQueue
from millrace.state.internal_tables import EVENT_TIMERS, PARTITION_TIMERS
from millrace.state.nested_table import NestedTable
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import EVENT_TIMER_QUEUE, MAP

__all__ = ["PartitionTimers"]


class PartitionTimers:
    """Event-time timers of the current partition.

    Args:
        state: state that holds the timers.
        uid: uid of the operator.
        current: partition whose row or timer is processed.
    """

    def __init__(self, state: SubtaskState, uid: str, current: CurrentKey) -> None:
        self._queue = TimerQueue(state, TableId(uid, EVENT_TIMERS), EVENT_TIMER_QUEUE)
        self._set: NestedTable = state.table(TableId(uid, PARTITION_TIMERS), MAP)
        self._current = current

    def refresh(self) -> None:
        """Refresh after a restore has changed the state."""
        self._queue.refresh()

    def register(self, time: int, name: str | None = None) -> None:
        """Set a timer. It replaces a timer of the same name."""
        key = self._current.key
        timer = time if name is None else name
        former = self._set.data.get(key, {}).get(timer)
        if former == time:
            return
        if former is not None:
            self._queue.delete(former, key, name)
        self._queue.register(time, key, name)
        self._set.put(key, timer, time)

    def clear(self, timer: str | int) -> None:
        """Remove a timer, by its name, or by its time if it has no name."""
        key = self._current.key
        time = self._set.data.get(key, {}).get(timer)
        if time is not None:
            self._queue.delete(time, key, timer if isinstance(timer, str) else None)
            self._set.remove(key, timer)

    def clear_all(self) -> None:
        """Remove all timers of the partition."""
        for timer in list(self._set.data.get(self._current.key, {})):
            self.clear(timer)

    def earliest(self) -> int | None:
        """Time of the next timer of any partition. None if there is no timer."""
        return self._queue.earliest()

    def fire(self, until: int, on_timer: Callable[[int, str | None], None]) -> None:
        """Call ``on_timer`` for the timers up to a time, the earliest first. Each timer is
        removed before its call."""

        def fired(time: int, key: Any, name: str | None) -> None:
            self._current.key = key
            self._set.remove(key, time if name is None else name)
            on_timer(time, name)

        self._queue.fire(until, fired)
