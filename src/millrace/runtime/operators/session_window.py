"""Event-time sessions with an incremental aggregate and the default trigger.

The sessions of a key are one small tuple, so a record costs a lookup and an addition. Ends of
sessions are checked lazily: if a session was extended, the check finds that it is not due yet and
schedules the next check. Semantics: Flink docs, "Windows" (sessions that overlap or touch are one;
a record is late if the watermark has passed the end of its session and it joins no other).
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.window import TimeWindow
from millrace.common.window.session_windows import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
)
from millrace.common.window.window_assigner import checked_timestamp
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.late_records import LateRecords
from millrace.runtime.operators.window_operator import missing_event_time
from millrace.runtime.window_logic import WindowEvaluation, WindowLogic
from millrace.runtime.window_state import refuse_other_windows
from millrace.state import table_kinds
from millrace.state.flat_table import FlatTable
from millrace.state.internal_tables import SESSIONS
from millrace.state.table_id import TableId

Session = tuple[int, int, Any]
"""Start, end (ms since the epoch), accumulator."""
Sessions = tuple[Session, ...]


class SessionWindowOperator(FunctionOperator):
    """Keeps the open sessions of each key, and fires them with the watermark."""

    def __init__(
        self,
        assigner: EventTimeSessionWindows | DynamicEventTimeSessionWindows,
        logic: WindowLogic,
        key_batch: Callable[[list[Any]], list[Any]],
        late_tag: OutputTag[Any] | None = None,
    ) -> None:
        super().__init__(logic.window_function)
        self._assigner = assigner
        self._logic = logic
        self._keys_of = key_batch
        self._late_tag = late_tag

    def open(self) -> None:
        state, uid = self.context.state, self.context.uid
        self._table: FlatTable = state.table(TableId(uid, SESSIONS), table_kinds.SESSIONS)
        self._evaluation = WindowEvaluation(self, self._logic, merging=True)
        self._add, self._create = self._logic.accumulate_functions()
        self._merge, self._result = self._logic.merge_function(), self._logic.result_function()
        self._late = LateRecords(self)
        self._forget()

    def _forget(self) -> None:
        self._next: dict[Any, int] = {}
        """Per key, the time of the next check for ended sessions."""
        self._heap: list[tuple[int, int, Any]] = []
        self._ties = count()

    def close(self) -> None:
        self._evaluation.close()

    def restore(self) -> None:
        refuse_other_windows(self.context, SESSIONS)
        self._forget()
        for key, sessions in self._table.data.items():
            at = min(end for _, end, _ in sessions) - 1
            self._next[key] = at
            self._heap.append((at, next(self._ties), key))
        heapify(self._heap)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            raise missing_event_time(self.context.name)
        add = self._add
        late: list[int] = []
        ends = self._ends(values, timestamps)
        keys = self._keys_of(values)
        self._table.prefetch(keys)
        data = self._table.writable(keys)
        for index, (key, value, start, end) in enumerate(
            zip(keys, values, timestamps, ends, strict=True)
        ):
            sessions = data.get(key)
            if sessions is not None and len(sessions) == 1:
                begun, ending, accumulator = sessions[0]
                if begun <= end and start <= ending:
                    data[key] = (
                        (
                            begun if begun < start else start,
                            ending if ending > end else end,
                            add(value, accumulator),
                        ),
                    )
                    continue
            if not self._join(key, value, start, end, sessions or ()):
                late.append(index)
        if late:
            self._late.take(self._late_tag, late, values, timestamps)

    def _ends(self, values: list[Any], timestamps: list[int]) -> list[int]:
        assigner = self._assigner
        if isinstance(assigner, EventTimeSessionWindows):
            gap = assigner.session_gap
            return [time + gap for time in timestamps]
        ends = []
        for value, time in zip(values, timestamps, strict=True):
            ends.append(time + assigner.gap_of(value))
        return ends

    def _join(self, key: Any, value: Any, start: int, end: int, sessions: Sessions) -> bool:
        """Add a record to its session, after a merge of the sessions that it connects; or open a
        new session. False if the record is late. The caller has made the key writable."""
        checked_timestamp(value, start)
        joined = [s for s in sessions if s[0] <= end and start <= s[1]]
        if not joined and end - 1 <= self.watermark:
            return False
        if not joined:
            fresh = (start, end, self._create(value))
        else:
            _, _, accumulator = joined[0]
            for _, _, other in joined[1:]:
                accumulator = self._merge(accumulator, other)
            begun = min(start, joined[0][0])
            ending = max(end, *(s[1] for s in joined))
            fresh = (begun, ending, self._add(value, accumulator))
        rest = [s for s in sessions if s[0] > end or start > s[1]]
        self._table.data[key] = tuple(sorted([*rest, fresh], key=_start))
        self._look_at(key, fresh[1] - 1)
        return True

    def _look_at(self, key: Any, time: int) -> None:
        known = self._next.get(key)
        if known is None or time < known:
            self._next[key] = time
            heappush(self._heap, (time, next(self._ties), key))

    def process_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        results: list[Any] = []
        times: list[int] = []
        heap = self._heap
        while heap and heap[0][0] <= timestamp:
            time, _, key = heappop(heap)
            if self._next.get(key) == time:
                del self._next[key]
                self._fire_ended(key, time, results)
                times.extend([time] * (len(results) - len(times)))
        self.emit_results(results, times)
        super().process_watermark(timestamp)

    def _fire_ended(self, key: Any, time: int, results: list[Any]) -> None:
        """Fire the sessions of a key that end at ``time``. The others stay."""
        sessions: Sessions = self._table.data.get(key, ())
        ended = [session for session in sessions if session[1] - 1 <= time]
        if ended:
            self._table.touch(key)
            kept = tuple(session for session in sessions if session[1] - 1 > time)
            if kept:
                self._table.data[key] = kept
            else:
                del self._table.data[key]
            for start, end, accumulator in ended:
                window = TimeWindow(start, end)
                self._evaluation.evaluate(key, window, [self._result(accumulator)], results)
                self._evaluation.clear(key, window)
            sessions = kept
        if sessions:
            self._look_at(key, min(session[1] for session in sessions) - 1)


def _start(session: Session) -> int:
    return session[0]
