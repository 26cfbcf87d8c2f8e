"""`MaterializedRows`: the current rows of a changelog."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice

from millrace.common.types.row import Row, RowKind
from millrace.state.alike import alike

__all__ = ["MaterializedRows"]

_TAKES_BACK = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


class MaterializedRows:
    """Rows that were added and not retracted, in the order of their arrival. If there are equal
    rows, the last one is retracted first.

    Args:
        most: maximum number of rows to store; older rows are only counted. None if all are stored.

    Example:
        >>> rows = MaterializedRows()
        >>> for n in (1, 2):
        ...     rows.add(Row(n))
        >>> rows.add(Row.of_kind(RowKind.DELETE, 1))
        >>> len(rows), [row[0] for row in rows]
        (1, [2])
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._left: OrderedDict[int, Row] = OrderedDict()
        self._places: dict[int, list[int]] = {}
        """The numbers of the rows with one hash of their text, rising."""
        self._came = 0
        self.let_go = 0
        """Number of the oldest rows that are no longer here."""

    def __len__(self) -> int:
        return len(self._left) + self.let_go

    def __iter__(self) -> Iterator[Row]:
        return iter(self._left.values())

    def last(self, count: int) -> list[Row]:
        """The last rows, at most ``count``."""
        return list(islice(reversed(self._left.values()), count))[::-1]

    def add(self, row: Row) -> None:
        """Apply a row of the changelog, of any kind."""
        key = _key(row)
        if row.get_row_kind() in _TAKES_BACK:
            self._take_back(key, row)
            return
        self._left[self._came] = row
        self._places.setdefault(key, []).append(self._came)
        self._came += 1
        if self._most is not None and len(self._left) > self._most:
            number, oldest = self._left.popitem(last=False)
            self._forget(_key(oldest), number)
            self.let_go += 1

    def _take_back(self, key: int, row: Row) -> None:
        values = list(row)
        for number in reversed(self._places.get(key, ())):
            if alike(list(self._left[number]), values):
                del self._left[number]
                self._forget(key, number)
                return
        if self.let_go:  # it is one of those, if it was there at all
            self.let_go -= 1
            return
        for number, held in reversed(self._left.items()):  # equal values of other texts, as of maps
            if alike(list(held), values):
                del self._left[number]
                self._forget(_key(held), number)
                return

    def _forget(self, key: int, number: int) -> None:
        numbers = self._places[key]
        numbers.remove(number)
        if not numbers:
            del self._places[key]


def _key(row: Row) -> int:
    return hash(repr(list(row)))
