"""Outbox: buffers of one subtask that wait for credit of their targets.

All buffers for one task keep their order, so that a barrier follows all records before it. A
subtask whose outbox is not empty is back-pressured: its operators are not called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from millrace.common.errors import JobExecutionError
from millrace.runtime.buffer import Buffer
from millrace.runtime.resident.credits import first_credit
from millrace.runtime.resident.frames import MOST_PAYLOAD

__all__ = ["Outbox"]

Deliver = Callable[[int, Buffer], None]
"""Function that takes a task and a buffer for it."""
UNLIMITED = 1 << 60
_UNKNOWN = 64
"""Records for one target that are assumed before the first ones come."""
_COUNTED = 1 << 13
"""Records after which all counts of records are halved."""


class Outbox:
    """Buffers of one subtask on their way to other subtasks.

    Args:
        targets: number of target subtasks of each outgoing edge.
        width: number of tasks. Subtask i is part of task i modulo this number.
        deliver: function that sends a buffer.
        producers: number of producers that send to each target of an edge, by edge; 1 for others.
    """

    def __init__(
        self,
        targets: Mapping[int, int],
        width: int,
        deliver: Deliver,
        producers: Mapping[int, int] | None = None,
    ) -> None:
        shared = producers or {}
        self._credits = {
            (edge, target): first_credit(shared.get(edge, 1))
            for edge, count in targets.items()
            for target in range(count)
        }
        self._windows: dict[tuple[int, int], int] = {}
        """Credit of each target after its last grant. A target without a grant is not here: most
        have got nothing, such as all but one of a forward edge, and must not make pieces small."""
        self._room = min(self._credits.values(), default=UNLIMITED)
        self.records = 0
        """Records that were put in, for one target each."""
        self._counts: dict[tuple[int, int], int] = {}
        """Records of each target, of which earlier ones count less."""
        self._total = self._peak = 0
        self._width = width
        self._deliver = deliver
        self._lanes: dict[tuple[int, int], deque[Buffer]] = {}
        """Waiting buffers, by edge and task. A lane without buffers is removed."""

    @property
    def is_blocked(self) -> bool:
        """Whether buffers wait for credit."""
        return bool(self._lanes)

    def room(self) -> int:
        """Smallest credit window among the targets. One piece of input should produce at most this
        many records.
        """
        return self._room

    @property
    def peak_share(self) -> float:
        """Fraction of the recent records that went to the most frequent target; 1 while only few
        records have been sent.
        """
        return (self._peak + _UNKNOWN) / (self._total + _UNKNOWN)

    def put(self, buffers: Iterable[Buffer]) -> None:
        """Send buffers, or keep them until there is credit.

        Raises:
            JobExecutionError: a record is too big to be sent.
        """
        for buffer in buffers:
            if not buffer.is_for_task:
                self._count((buffer.edge, buffer.target), buffer.size)
                if len(buffer.payload) > MOST_PAYLOAD:
                    raise JobExecutionError(_too_big(len(buffer.payload)))
            task = buffer.target % self._width
            lane = self._lanes.get((buffer.edge, task))
            if lane is not None:
                lane.append(buffer)
            elif not self._send(task, buffer):
                self._lanes[buffer.edge, task] = deque([buffer])

    def add_credit(self, edge: int, target: int, records: int) -> None:
        """Add credit that a target has granted, and send the buffers that waited for it."""
        place = edge, target
        self._credits[place] = self._windows[place] = self._credits[place] + records
        self._room = max(1, min(self._windows.values()))
        task = target % self._width
        lane = self._lanes.get((edge, task))
        while lane and self._send(task, lane[0]):
            lane.popleft()
        if lane is not None and not lane:
            del self._lanes[edge, task]

    def _count(self, place: tuple[int, int], records: int) -> None:
        self.records += records
        self._total += records
        count = self._counts[place] = self._counts.get(place, 0) + records
        self._peak = max(self._peak, count)
        if self._total > _COUNTED:
            self._counts = {place: count // 2 for place, count in self._counts.items()}
            self._total, self._peak = self._total // 2, max(self._counts.values())

    def _send(self, task: int, buffer: Buffer) -> bool:
        """Send a buffer, unless its target has no credit left. The last buffer may exceed it."""
        if buffer.size and not buffer.is_for_task:
            place = buffer.edge, buffer.target
            credit = self._credits[place]
            if credit <= 0:
                return False
            self._credits[place] = credit - buffer.size
        self._deliver(task, buffer)
        return True


def _too_big(size: int) -> str:
    return (
        f"a record of {size:,} bytes in encoded form is too big for the next operator: resident "
        f"tasks send at most {MOST_PAYLOAD:,} bytes at a time. Split the record, or put the data "
        "into a file and send its path"
    )
