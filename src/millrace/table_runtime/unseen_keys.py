"""Keys that are added and removed again between two flushes.

A net change leaves such a key out. An epoch that is lost and runs again may flush at other places:
the lost one may have flushed, and a sink may have written, between the key's insertion and its
deletion. If a sink writes by key and at least once, operators therefore flush before the deletion.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.state.columns.hash_index import Positions, distinct

__all__ = ["Changes", "after_last_addition", "divided", "last_retractions"]

Flags = npt.NDArray[np.bool_]
Changes = tuple[pa.RecordBatch, Positions, npt.NDArray[np.int8]]
"""Rows, the slots of their keys, and their signs: -1 for retractions, else 1."""


def last_retractions(
    slots: Positions,
    signs: npt.NDArray[np.int8],
    counts: npt.NDArray[np.int64],
    seen: Callable[[Positions], Flags],
) -> Flags | None:
    """Flags of the rows before which a flush is needed: retractions of keys that would otherwise be
    added and removed without any emitted change. None if no flush is needed.

    Args:
        slots: slot of each row's key.
        signs: -1 for retractions, else 1.
        counts: number of rows before the batch, by slot.
        seen: whether each of distinct slots had rows at the last flush.
    """
    retracted = distinct(slots[signs < 0])
    numbers = np.full(int(slots.max()) + 1, -1)
    numbers[retracted] = np.arange(retracted.size)
    owners = numbers.take(slots)
    added = np.flatnonzero((signs > 0) & (owners >= 0))
    most = counts.take(retracted) + np.bincount(owners[added], minlength=retracted.size)
    removed = np.bincount(owners[signs < 0], minlength=retracted.size)
    unseen = (most > 0) & (most <= removed)
    if not unseen.any():
        return None
    unseen[unseen] = ~seen(retracted[unseen])
    if not unseen.any():
        return None
    return after_last_addition(slots, signs, retracted[unseen])


def after_last_addition(slots: Positions, signs: npt.NDArray[np.int8], unseen: Positions) -> Flags:
    """Flags of those rows of some keys that come after the last addition of their key in the batch.

    Args:
        slots: slot of each row's key.
        signs: -1 for retractions, else 1.
        unseen: distinct slots of the keys, in ascending order.
    """
    rows = np.flatnonzero(np.isin(slots, unseen))
    keys = np.searchsorted(unseen, slots[rows])
    last_added = np.full(unseen.size, -1)
    added = signs[rows] > 0
    np.maximum.at(last_added, keys[added], rows[added])
    later = np.zeros(slots.size, np.bool_)
    later[rows] = rows > last_added.take(keys)
    return later


def divided(changes: Changes, later: Flags) -> tuple[Changes, Changes]:
    """Divide changes at a flush: the changes before it, and the changes after it."""
    data, slots, signs = changes
    before, after = (
        (data.filter(pa.array(rows)), slots[rows], signs[rows]) for rows in (~later, later)
    )
    return before, after
