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
LONGEST_PIECE = 0.2
"""Seconds that a piece may take so that the cost of its call is a small share."""
_CALL_SHARE = 1 / 8
"""Share of a piece's time that its call should cost at most."""
_ALIKE = 8
"""Pieces of the same size before a larger one shows the cost of a call."""
_SPREAD = 0.3
"""Standard deviation of the sizes of pieces, relative to their mean, that shows the cost of a call
apart from that of its records."""
_CREDIT = struct.Struct("<IIII")


def pack_credit(edge: int, channel: int, target: int, records: int) -> bytes:
    """Body of a credit frame: ``records`` more for the producer ``channel`` of ``edge``."""
    return _CREDIT.pack(edge, channel, target, records)


def unpack_credit(body: bytes) -> tuple[int, int, int, int]:
    """Edge, producer, target and records of a credit frame."""
    edge, channel, target, records = _CREDIT.unpack(body)
    return edge, channel, target, records


class _Sums:
    """Sums over the last pieces, of which earlier ones count less."""

    def __init__(self) -> None:
        self._pieces = self._records = self._seconds = self._squares = self._products = 0.0

    def add(self, records: int, seconds: float) -> None:
        self._pieces = _KEPT * self._pieces + 1
        self._records = _KEPT * self._records + records
        self._seconds = _KEPT * self._seconds + seconds
        self._squares = _KEPT * self._squares + records * records
        self._products = _KEPT * self._products + records * seconds

    def slope(self) -> float:
        """Seconds per further record (least squares). 0 if the sizes differ too little."""
        mean = self._records / self._pieces
        variance = self._squares / self._pieces - mean * mean
        if variance < (_SPREAD * mean) ** 2:
            return 0.0
        return (self._products - mean * self._seconds) / self._pieces / variance

    def seconds_without(self, slope: float) -> float:
        """Seconds of a call of which each record takes ``slope`` seconds."""
        return max(0.0, (self._seconds - slope * self._records) / self._pieces)


class CallCosts:
    """Measured cost of a call of a subtask's operators, apart from the cost of each record.

    A call of many columnar functions, a model or a data frame may take longer than a piece should.
    Smaller pieces would not make it shorter, only more frequent: pieces of one record took whole
    jobs to a hundredth of their rate. So a piece has at least the records that make the call a
    small share of its time.

    Example:
        >>> costs = CallCosts()
        >>> for records in (64, 16, 64):
        ...     costs.observe(records, 0.03 + records * 1e-5)
        >>> costs.least
        256
    """

    def __init__(self) -> None:
        self.least = 1
        """Records of a piece of which the call is no large share."""
        self._call = self._record = 0.0
        """Seconds of a call, and of each of its records. 0: unknown."""
        self._alike = 0
        """Pieces since the last fit."""
        self._most = 1
        """Records of the largest piece."""
        self._sums = _Sums()

    def observe(self, records: int, seconds: float) -> None:
        """Measure: a call with ``records`` took ``seconds``."""
        expected = self._call + records * self._record
        if self._record and seconds > _SLOW * expected and seconds > PIECE:
            # the records may have become slow: then large pieces would take very long
            self._call = self._record = 0.0
            self._alike, self._most, self._sums = 0, 1, _Sums()
        self._alike += 1
        self._most = max(self._most, records)
        self._sums.add(records, seconds)
        if self._fit():
            self._alike = 0
        elif not expected / 2 < seconds < 2 * expected:
            self._record = 0.0  # what is known is wrong
        self.least = self._trial(records, seconds) or (self._least() if self._record else 1)

    def _fit(self) -> bool:
        """Fit a line to the last pieces, if their sizes differ enough."""
        slope = self._sums.slope()
        if slope <= 0:
            return False
        self._record, self._call = slope, self._sums.seconds_without(slope)
        return True

    def _trial(self, records: int, seconds: float) -> int:
        """Records of a larger piece, if the last ones have been too much alike. 0 if not."""
        if not self._record:
            return min(2 * records, MOST_RECORDS) if self._alike >= _ALIKE else 0
        # the cost of a call was measured on a busy machine, perhaps
        is_due = self._alike >= 2 * _ALIKE and seconds < LONGEST_PIECE
        return min(4 * records, MOST_RECORDS) if is_due and self._call > seconds / 10 else 0

    def _least(self) -> int:
        wanted = self._call * (1 / _CALL_SHARE - 1)
        allowed = max(min(wanted, LONGEST_PIECE - self._call), self._call)
        return max(1, min(int(allowed / self._record), 4 * self._most, MOST_RECORDS))


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
        """Records of the next piece of columns."""
        return max(self._columns, self._costs.least)

    def is_slow(self, records: int, seconds: float) -> bool:
        """Whether a piece took much longer than those before."""
        return 0 < _SLOW * self.seconds * records < seconds

    def observe(self, records: int, seconds: float) -> None:
        """Measure: ``records`` took ``seconds``."""
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
        """Records of the next piece, at most ``records``."""
        first, self._first = self._first, min(2 * self._first, MOST_RECORDS)
        paced = int(PIECE / self.seconds) if self.seconds else records
        return max(1, min(records, max(paced, self._costs.least), first))

    def least(self, is_columnar: bool) -> int:
        """Records that must be able to wait before the subtask, so that its pieces can be as large
        as they should be."""
        return self.columns if is_columnar else self._costs.least


class Preemptions:
    """Tells whether a piece took long because another process had the processor. The pace of the
    subtask is then that of the processor time: otherwise the next pieces would be small, and more
    so the busier the machine is.

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
