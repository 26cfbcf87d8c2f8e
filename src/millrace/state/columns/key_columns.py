"""Keys of a columnar table by position, with an index that finds them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.state.columns.fingerprints import exact_word, fingerprints, is_exact, validity
from millrace.state.columns.growable_columns import column_of
from millrace.state.columns.hash_index import HashIndex, Positions, Word

__all__ = ["KeyColumns", "first_rows"]


class KeyColumns:
    """Keys of any number of Arrow columns; without columns, there is a single key."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.types = list(types)
        self._columns = [column_of(kind) for kind in types]
        self._exact = len(self.types) == 1 and is_exact(self.types[0])
        self._seeds = (secrets.randbits(64), secrets.randbits(64))
        self._index = HashIndex(1 if self._exact else 2)

    def words(self, keys: Sequence[pa.Array], count: int) -> list[Word]:
        """Words of the keys in the index.

        Args:
            keys: columns of the keys. Each value of a dictionary array is processed only once.
        """
        if not self._exact:
            return fingerprints(keys, count, self._seeds)
        (key,) = keys
        words, valid = [exact_word(key)], validity(key)
        if valid is not None and self._index.word_count == 1:
            self._index.widen()  # nulls are told from 0 by a second word
        if self._index.word_count == 2:
            words.append(np.zeros(count, np.int64) if valid is None else (~valid).astype(np.int64))
        return words

    def find(self, words: list[Word]) -> Positions:
        """Position of each key; -1 for a missing key."""
        return self._index.find(words)

    def add(
        self,
        keys: Sequence[pa.Array],
        words: list[Word],
        rows: npt.NDArray[np.int64],
        positions: Positions,
    ) -> None:
        """Put the keys of ``rows`` at ``positions``. The keys must be all different."""
        self._index.insert([word.take(rows) for word in words], positions)
        for column, key in zip(self._columns, keys, strict=True):
            values = key.take(pa.array(rows))
            if pa.types.is_dictionary(values.type):
                values = values.dictionary_decode()
            column.set(positions, values)

    def delete(self, positions: Positions) -> None:
        """Remove the keys at the given positions."""
        if positions.size:
            self._index.delete(positions)
            for column in self._columns:
                column.free(positions)

    def at(self, positions: Positions) -> list[pa.Array]:
        """Keys at the given positions, as one array per column."""
        return [column.take(positions) for column in self._columns]


def first_rows(words: list[Word]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First row of each distinct key, and for each row the number of its key. Keys are numbered
    in the order of their first rows."""
    order = np.argsort(words[0], kind="stable")
    differs = _steps(words, order)
    if len(words) == 2 and _mixed(words, order, differs):
        order = np.lexsort(words[::-1])
        differs = _steps(words, order)
    firsts = order[differs]
    numbers = np.empty(order.size, np.int64)
    ranks = np.empty(firsts.size, np.int64)
    by_row = np.argsort(firsts)
    ranks[by_row] = np.arange(firsts.size)
    numbers[order] = ranks.take(np.cumsum(differs) - 1)
    return firsts[by_row], numbers


def _steps(words: list[Word], order: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Mask of the places in the sorted rows at which a new key begins."""
    steps = np.zeros(order.size, np.bool_)
    steps[:1] = True
    for word in words:
        sorted_ = word.take(order)
        steps[1:] |= sorted_[1:] != sorted_[:-1]
    return steps


def _mixed(words: list[Word], order: npt.NDArray[np.int64], differs: npt.NDArray[np.bool_]) -> bool:
    """Whether keys with equal first words have different second words."""
    first = words[0].take(order)
    return bool((differs[1:] & (first[1:] == first[:-1])).any())
