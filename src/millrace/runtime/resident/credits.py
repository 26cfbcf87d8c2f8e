"""Credits: the number of records that a producer may send before the consumer has processed earlier
ones.

What waits before a subtask is bounded by time, so that a barrier is never minutes behind: a
subtask's window is about `WINDOW` seconds of its measured pace (Flink docs, "Network Buffer
Tuning": buffer debloating).
"""

from __future__ import annotations

import resource
import struct
from collections.abc import Callable

from millrace.runtime.watermark_valve import Channel

__all__ = [
    "FIRST_CREDIT",
    "CreditWindow",
    "Pace",
    "Preemptions",
    "pack_credit",
    "unpack_credit",
]

WINDOW = 0.1
"""Seconds of work that may wait before a subtask."""
FIRST_CREDIT = 64
"""Records that each producer may send before the pace of the consumer is known."""
MOST_RECORDS = 1 << 17
"""Largest window of a channel."""
_KEPT = 0.7
"""Share of the earlier pieces that counts with each further one."""
_SHORT = 0.0005
"""Seconds of a piece that tell little about its records: a call has its own cost."""
_SLOW = 3
"""Factor by which a piece is slower than those before, to be looked at."""
PIECE = 0.005
"""Seconds that one piece of input should take at most."""
COLUMNS_PIECE = 0.02
"""Seconds that one piece of columns should take. A call of columnar functions takes milliseconds
even for one record, so pieces of `PIECE` would be small and dear."""
_CREDIT = struct.Struct("<IIII")


def pack_credit(edge: int, channel: int, target: int, records: int) -> bytes:
    """Body of a credit frame: ``records`` more for the producer ``channel`` of ``edge``."""
    return _CREDIT.pack(edge, channel, target, records)


def unpack_credit(body: bytes) -> tuple[int, int, int, int]:
    """Edge, producer, target and records of a credit frame."""
    edge, channel, target, records = _CREDIT.unpack(body)
    return edge, channel, target, records


class Pace:
    """Measured seconds per record of a subtask, which limit the size of a piece of its input.

    The first pieces are small: a record may take 100 ms. Pieces of columns grow fourfold as long as
    they take less than half of `COLUMNS_PIECE`: seconds per record, measured with few of them, say
    little about many.

    Example:
        >>> pace = Pace()
        >>> pace.limit(4096), pace.limit(4096)
        (1, 2)
        >>> pace.observe(2, 0.02)
        >>> pace.limit(4096)
        1
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """Seconds per record. 0 as long as nothing is known."""
        self._records = self._time = 0.0
        """Records and seconds of the last pieces."""
        self._first = 1
        """Limit of the next piece, which doubles with each."""
        self.columns = 16
        """Records of the next piece of columns."""

    def is_slow(self, records: int, seconds: float) -> bool:
        """Whether a piece took much longer than the pieces before it."""
        return 0 < _SLOW * self.seconds * records < seconds

    def observe(self, records: int, seconds: float) -> None:
        """Record that ``records`` took ``seconds``."""
        if not records:
            return
        if seconds > 3 * COLUMNS_PIECE:
            self.columns = max(1, int(records * COLUMNS_PIECE / seconds))
        elif seconds < COLUMNS_PIECE / 2:
            self.columns = max(self.columns, min(4 * records, MOST_RECORDS))
        if seconds > _SHORT and seconds > self.seconds * records:
            # at once if it became slower: a piece should not take long
            self._records, self._time = float(records), seconds
        else:  # a few records, the rest of a large buffer, must not make all pieces small
            self._records = _KEPT * self._records + records
            self._time = _KEPT * self._time + seconds
        self.seconds = self._time / self._records

    def limit(self, records: int) -> int:
        """Records of the next piece, at most ``records``."""
        first, self._first = self._first, min(2 * self._first, MOST_RECORDS)
        paced = int(PIECE / self.seconds) if self.seconds else records
        return max(1, min(records, paced, first))


class Preemptions:
    """Tells whether a piece took long because another process had the processor. The subtask's pace
    is then computed from processor time, because a busy machine would otherwise make the next
    pieces smaller and smaller.

    Args:
        count: function that returns how often the thread had to give up the processor so far.

    Example:
        >>> counts = iter([3, 3, 4])
        >>> preemptions = Preemptions(lambda: next(counts))
        >>> preemptions.without(0.02, 0.001), preemptions.without(0.02, 0.001)
        (0.02, 0.001)
    """

    def __init__(self, count: Callable[[], int] | None = None) -> None:
        self._count = count or _involuntary_switches
        self._before = self._count()

    def without(self, seconds: float, used: float) -> float:
        """Seconds that a piece would have taken without preemption.

        Args:
            seconds: seconds that it took.
            used: its processor time.
        """
        before, self._before = self._before, self._count()
        return used if self._before > before and seconds > 2 * used > 0 else seconds


def _involuntary_switches() -> int:
    usage = resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF))
    return usage.ru_nivcsw


class CreditWindow:
    """Grants of one subtask to its producers.

    Example:
        >>> window = CreditWindow([(0, 0), (0, 1)])
        >>> window.adapt(0.01)  # 10 records are 100 ms
        >>> window.records
        5
    """

    def __init__(self, channels: list[Channel]) -> None:
        self._channels = max(1, len(channels))
        self._held = dict.fromkeys(channels, FIRST_CREDIT)
        """Records per channel that have been granted and are not processed."""
        self.records = FIRST_CREDIT
        """Window of each channel in records."""

    def adapt(self, seconds: float, least: int = 1) -> None:
        """Set the window for a subtask that takes ``seconds`` per record, to at least ``least``
        records."""
        if seconds:
            window = WINDOW / seconds / self._channels
            self.records = int(min(max(window, least), MOST_RECORDS))

    def returned(self, channel: Channel, records: int) -> int:
        """Records to grant to a channel, after ``records`` of its records have been processed. 0
        while half of the window is still granted.
        """
        held = self._held[channel] = self._held[channel] - records
        missing = self.records - held
        if missing <= 0 or 2 * missing < self.records:
            return 0
        self._held[channel] = self.records
        return missing
