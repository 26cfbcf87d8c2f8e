"""Hash index from keys of one or two 64-bit words to positions.

Open addressing with linear probing in NumPy, a batch of keys at a time: one lookup costs a few
nanoseconds where a dict of Python objects costs hundreds. Words are exact for numbers; for texts
and rows they are two fingerprints (`fingerprints`), which together decide what is the same key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["HashIndex", "Positions", "Word", "distinct", "first_of_each"]

Word = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int64]

_EMPTY, _DELETED = -1, -2
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_MINIMUM_BITS = 10


_DENSE = 16
"""Maximum number of places per position for which distinct positions are found by marking
places, and not by sorting."""


def distinct(positions: Positions) -> Positions:
    """Distinct positions in ascending order.

    >>> distinct(np.array([5, 2, 5])).tolist()
    [2, 5]
    """
    if not positions.size or (end := int(positions.max()) + 1) > _DENSE * positions.size:
        return np.unique(positions)
    seen = np.zeros(end, np.bool_)
    seen[positions] = True
    return np.flatnonzero(seen)


def first_of_each(positions: Positions) -> tuple[Positions, npt.NDArray[np.int64]]:
    """Distinct positions in ascending order, and the index of the first occurrence of each.

    >>> [each.tolist() for each in first_of_each(np.array([5, 2, 5]))]
    [[2, 5], [1, 0]]
    """
    unique = distinct(positions)
    if not unique.size or (end := int(unique[-1]) + 1) > _DENSE * positions.size:
        unique, firsts = np.unique(positions, return_index=True)
        return unique, firsts
    first = np.empty(end, np.int64)
    # of equal positions the last one written stays
    first[positions[::-1]] = np.arange(positions.size - 1, -1, -1)
    return unique, first.take(unique)


class HashIndex:
    """Map from keys to positions that the caller chooses.

    Example:
        >>> index = HashIndex()
        >>> index.insert([np.array([7, 9])], np.array([0, 1]))
        >>> index.find([np.array([9, 8])]).tolist()
        [1, -1]
    """

    def __init__(self, words: int = 1) -> None:
        self._words = [np.zeros(1 << _MINIMUM_BITS, np.int64) for _ in range(words)]
        self._bits = _MINIMUM_BITS + 1
        self._table = np.full(1 << self._bits, _EMPTY, np.int32)
        self._used = 0
        """Number of places of the table that are not empty."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def word_count(self) -> int:
        """Number of words in a key."""
        return len(self._words)

    def find(self, key: Sequence[Word]) -> Positions:
        """Position of each key; -1 for a key that the index does not have."""
        if not self._count:
            return np.full(key[0].size, -1, np.int64)
        home = self._home(key)
        positions = self._table.take(home)
        open_ = np.flatnonzero(self._differs(positions, key, slice(None)))
        mask = self._table.size - 1
        while open_.size:
            open_ = open_[positions.take(open_) != _EMPTY]
            places = (home.take(open_) + 1) & mask
            home[open_] = places
            next_ = self._table.take(places)
            positions[open_] = next_
            open_ = open_[self._differs(next_, key, open_)]
        return positions.astype(np.int64)

    def insert(self, key: Sequence[Word], positions: Positions) -> None:
        """Add new keys at positions that no other key has. The keys must be all different."""
        if not positions.size:
            return
        self._reserve(int(positions.max()) + 1)
        for mine, word in zip(self._words, key, strict=True):
            mine[positions] = word
        if 2 * (self._used + positions.size) > self._table.size:
            self._rebuild(positions)
            return
        self._place(self._home(key), positions.astype(np.int32))
        self._count += positions.size

    def delete(self, positions: Positions) -> None:
        """Remove the keys at the given positions."""
        if not positions.size:
            return
        wanted = positions.astype(np.int32)
        places = self._home([word.take(positions) for word in self._words])
        mask = self._table.size - 1
        open_ = np.flatnonzero(self._table.take(places) != wanted)
        while open_.size:
            moved = (places.take(open_) + 1) & mask
            places[open_] = moved
            open_ = open_[self._table.take(moved) != wanted.take(open_)]
        self._table[places] = _DELETED
        self._count -= positions.size

    def widen(self) -> None:
        """Give keys of one word a second word. It is 0 for all keys that the index already has."""
        self._words.append(np.zeros_like(self._words[0]))
        self._rebuild(np.empty(0, np.int64))

    def _differs(
        self, places: npt.NDArray[np.int32], key: Sequence[Word], rows: npt.NDArray[np.intp] | slice
    ) -> npt.NDArray[np.bool_]:
        """Whether each place is empty, deleted or taken by another key."""
        differs = places < 0
        for mine, word in zip(self._words, key, strict=True):
            differs |= mine.take(places, mode="clip") != word[rows]
        return differs

    def _home(self, key: Sequence[Word]) -> Positions:
        mixed = key[0].view(np.uint64) * _GOLDEN
        for word in key[1:]:
            mixed ^= word.view(np.uint64) * _MIX
            mixed ^= mixed >> np.uint64(32)
            mixed *= _GOLDEN
        return (mixed >> np.uint64(64 - self._bits)).view(np.int64)

    def _place(self, places: Positions, positions: npt.NDArray[np.int32]) -> None:
        """Put each position into the first free place of the table. The search begins at the
        position's entry in ``places``."""
        table, mask = self._table, self._table.size - 1
        while positions.size:
            free = table.take(places)
            # a place may be wanted by several: the last one gets it, the others go on
            taken = places[free < 0]
            self._used += int(np.count_nonzero(free == _EMPTY))
            table[taken] = positions[free < 0]
            lost = table.take(places) != positions
            self._used -= int(np.count_nonzero(lost & (free == _EMPTY)))
            places = (places[lost] + 1) & mask
            positions = positions[lost]

    def _reserve(self, size: int) -> None:
        have = self._words[0].size
        if size > have:
            more = np.zeros(max(size, 2 * have) - have, np.int64)
            self._words = [np.concatenate([word, more]) for word in self._words]

    def _rebuild(self, added: Positions) -> None:
        present = self._table[self._table >= 0].astype(np.int64)
        positions = np.concatenate([present, added]) if added.size else present
        while 3 * positions.size > (1 << self._bits):
            self._bits += 1
        self._table = np.full(1 << self._bits, _EMPTY, np.int32)
        self._used, self._count = 0, positions.size
        self._place(
            self._home([word.take(positions) for word in self._words]), positions.astype(np.int32)
        )
