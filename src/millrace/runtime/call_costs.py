"""Cost of a call of operators, without the cost of the records in it.

Small pieces of input do not make expensive calls shorter, only more frequent. So what limits the
time of a piece has to know both costs.
"""

from __future__ import annotations

__all__ = ["LONGEST_PIECE", "MOST_RECORDS", "PIECE", "SLOW", "CallCosts"]

PIECE = 0.005
"""Seconds that one piece of input should take at most."""
LONGEST_PIECE = 0.2
"""Seconds that a piece may take so that the cost of its call is a small share."""
MOST_RECORDS = 1 << 17
"""Largest number of records of a piece."""
SLOW = 3
"""Factor by which a piece is slower than those before, to be looked at."""
_KEPT = 0.7
"""Share of the earlier pieces that counts with each further one."""
_CALL_SHARE = 1 / 8
"""Share of a piece's time that its call should cost at most."""
_ALIKE = 8
"""Pieces of the same size before a larger one shows the cost of a call."""
_SPREAD = 0.3
"""Standard deviation of the sizes of pieces, relative to their mean, that shows the cost of a call
apart from that of its records."""


class _Sums:
    """Sums over the last pieces, in which older pieces count less."""

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
    """Measured cost of a call of a subtask's operators, without the cost of the records in it.

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
        """Record that a call with ``records`` records took ``seconds`` seconds."""
        expected = self._call + records * self._record
        if self._record and seconds > SLOW * expected and seconds > PIECE:
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
