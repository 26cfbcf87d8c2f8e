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

from millrace.runtime.call_costs import MOST_RECORDS, PIECE, SLOW, CallCosts
from millrace.runtime.resident.frames import Body
from millrace.runtime.watermark_valve import Channel

__all__ = [
    "FIRST_CREDIT",
    "CreditWindow",
    "Pace",
    "Preemptions",
    "first_credit",
    "pack_credit",
    "unpack_credit",
]

WINDOW = 0.1
"""Seconds of work that may wait before a subtask."""
FIRST_CREDIT = 16
"""Records that all producers of a subtask may send before its pace is known."""
_KEPT = 0.7
"""Share of the earlier pieces that counts with each further one."""
_SHORT = 0.0005
"""Seconds of a piece that tell little about its records: a call has its own cost."""
COLUMNS_PIECE = 0.02
"""Seconds that one piece of columns should take. A call of columnar functions takes milliseconds
even for one record, so pieces of `PIECE` would be small and dear."""
_CREDIT = struct.Struct("<IIII")


def pack_credit(edge: int, channel: int, target: int, records: int) -> bytes:
    """Body of a credit frame: ``records`` more for the producer ``channel`` of ``edge``."""
    return _CREDIT.pack(edge, channel, target, records)


def unpack_credit(body: Body) -> tuple[int, int, int, int]:
    """Edge, producer, target and records of a credit frame."""
    edge, channel, target, records = _CREDIT.unpack(body)
    return edge, channel, target, records


def first_credit(producers: int) -> int:
    """Number of records that each of the ``producers`` of a subtask may send before its pace is
    known.
    """
    return max(1, FIRST_CREDIT // max(1, producers))


class Pace:
    """Measured seconds per record of a subtask, which limit the size of a piece of its input.

    The first pieces are small: a record may take 100 ms. Pieces of columns grow fourfold as long as
    they take less than half of `COLUMNS_PIECE`: seconds per record, measured with few of them, say
    little about many. Where a call is expensive, pieces are as large as `CallCosts` says.

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
        self._columns = 16
        self._costs = CallCosts()

    @property
    def columns(self) -> int:
        """Number of records in the next piece of a column batch."""
        return max(self._columns, self._costs.least)

    def is_slow(self, records: int, seconds: float) -> bool:
        """Whether a piece took much longer than the pieces before it."""
        return 0 < SLOW * self.seconds * records < seconds

    def observe(self, records: int, seconds: float) -> None:
        """Record that ``records`` records took ``seconds`` seconds."""
        if not records:
            return
        self._costs.observe(records, seconds)
        if seconds > 3 * COLUMNS_PIECE:
            self._columns = max(1, int(records * COLUMNS_PIECE / seconds))
        elif seconds < COLUMNS_PIECE / 2:
            self._columns = max(self._columns, min(4 * records, MOST_RECORDS))
        if seconds > _SHORT and seconds > self.seconds * records:
            # at once if it became slower: a piece should not take long
            self._records, self._time = float(records), seconds
        else:  # a few records, the rest of a large buffer, must not make all pieces small
            self._records = _KEPT * self._records + records
            self._time = _KEPT * self._time + seconds
        self.seconds = self._time / self._records

    def limit(self, records: int) -> int:
        """Number of records in the next piece, at most ``records``."""
        first, self._first = self._first, min(2 * self._first, MOST_RECORDS)
        paced = self._paced() if self.seconds else records
        return max(1, min(records, paced, first))

    def wanted(self, records: int) -> int:
        """Number of records that make a piece of rows large enough, at most ``records``."""
        return max(1, min(records, self._paced())) if self.seconds else 1

    def _paced(self) -> int:
        return max(int(PIECE / self.seconds), self._costs.least)

    def least(self, is_columnar: bool) -> int:
        """Number of records that must be allowed to wait in front of the subtask, so that its
        pieces can have their full size.
        """
        return self.columns if is_columnar else self._costs.least


class Preemptions:
    """Detects pieces that took long because another process used the processor. For them the
    subtask's processor time is its pace. With the elapsed time, the next pieces would be too small
    on a busy machine.

    A function that sleeps or waits for an answer gives up the processor by itself. Its time counts
    in full, unless the piece is much slower than those before.

    Args:
        count: function that returns how often the thread had to give up the processor so far, and
            how often it did by itself.

    Example:
        >>> counts = iter([(3, 0), (3, 0), (4, 0)])
        >>> preemptions = Preemptions(lambda: next(counts))
        >>> preemptions.without(0.02, 0.001), preemptions.without(0.02, 0.001)
        (0.02, 0.001)
    """

    def __init__(self, count: Callable[[], tuple[int, int]] | None = None) -> None:
        self._count = count or _switches
        self._forced, self._own = self._count()

    def without(self, seconds: float, used: float, is_slow: bool = False) -> float:
        """Seconds that a piece would have taken without preemption.

        Args:
            seconds: seconds that it took.
            used: its processor time.
            is_slow: whether it took much longer than those before.
        """
        forced, own = self._forced, self._own
        self._forced, self._own = self._count()
        is_preempted = self._forced > forced and (is_slow or self._own == own)
        return used if is_preempted and seconds > 2 * used > 0 else seconds


def _switches() -> tuple[int, int]:
    usage = resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF))
    return usage.ru_nivcsw, usage.ru_nvcsw


class CreditWindow:
    """Credit that one subtask has granted to its producers. They share the records that may wait in
    front of the subtask.

    A producer gets its equal share at least, and what the others have not been granted: of a
    forward edge, one producer of many sends. No grant is taken back.

    Example:
        >>> window = CreditWindow([(0, 0), (0, 1)])
        >>> window.adapt(0.01)
        >>> window.records, window.share  # 10 records are 100 ms
        (10, 5)
    """

    def __init__(self, channels: list[Channel]) -> None:
        self._channels = max(1, len(channels))
        self.records = FIRST_CREDIT
        """Records that may wait in all channels together."""
        self.share = first_credit(len(channels))
        """Records that may wait in each channel."""
        self._held = dict.fromkeys(channels, self.share)
        """Records per channel that have been granted and are not processed."""
        self._sum = self.share * len(channels)
        """Records of all channels that have been granted and are not processed."""

    def adapt(self, seconds: float, least: int = 1) -> None:
        """Set the window for a subtask that takes ``seconds`` per record.

        Args:
            least: records that a piece of its input should have, since a call is expensive. Two
                such pieces may wait. Of a single producer, one piece may wait.
        """
        if seconds:
            window = max(WINDOW / seconds, least * min(2, self._channels), self._channels)
            self.records = int(min(window, MOST_RECORDS * self._channels))
            self.share = self.records // self._channels

    def returned(self, channel: Channel, records: int) -> int:
        """Number of records to grant to a channel, after ``records`` of its records have been
        processed. 0 while at least half of its window is still granted.
        """
        self._sum -= records
        held = self._held[channel] = self._held[channel] - records
        others = self._sum - held
        window = min(max(self.share, self.records - others), MOST_RECORDS)
        missing = window - held
        if missing <= 0 or 2 * missing < window:
            return 0
        self._held[channel] = window
        self._sum += missing
        return missing
