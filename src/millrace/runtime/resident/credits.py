"""Credits: how many records a producer may send before the consumer has processed others.

What waits before a subtask is bounded by time, so that a barrier is never minutes behind: a
subtask's window is about `WINDOW` seconds of its measured pace (Flink docs, "Network Buffer
Tuning": buffer debloating).
"""

from __future__ import annotations

import struct

from millrace.runtime.watermark_valve import Channel

__all__ = ["FIRST_CREDIT", "CreditWindow", "Pace", "pack_credit", "unpack_credit"]

WINDOW = 0.1
"""Seconds of work that may wait before a subtask."""
FIRST_CREDIT = 64
"""Records that each producer may send before the pace of the consumer is known."""
MOST_RECORDS = 1 << 17
"""Largest window of a channel."""
_SMOOTHING = 0.3
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
        self._first = 1
        """Limit of the next piece, which doubles with each."""
        self.columns = 16
        """Records of the next piece of columns."""

    def observe(self, records: int, seconds: float) -> None:
        """Measure: ``records`` took ``seconds``."""
        if not records:
            return
        if seconds > 3 * COLUMNS_PIECE:
            self.columns = max(1, int(records * COLUMNS_PIECE / seconds))
        elif seconds < COLUMNS_PIECE / 2:
            self.columns = max(self.columns, min(4 * records, MOST_RECORDS))
        pace, before = seconds / records, self.seconds
        # at once if it became slower: a piece should not take long
        self.seconds = before + _SMOOTHING * (pace - before) if 0 < pace < before else pace

    def limit(self, records: int) -> int:
        """Records of the next piece, at most ``records``."""
        first, self._first = self._first, min(2 * self._first, MOST_RECORDS)
        paced = int(PIECE / self.seconds) if self.seconds else records
        return max(1, min(records, paced, first))


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
        """Records to grant to a channel, of which ``records`` have been processed. 0 while half of
        the window is still granted."""
        held = self._held[channel] = self._held[channel] - records
        missing = self.records - held
        if missing <= 0 or 2 * missing < self.records:
            return 0
        self._held[channel] = self.records
        return missing
