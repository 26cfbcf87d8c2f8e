"""Keys that come and go between two flushes.

A net change leaves such a key out. An epoch that is lost and runs again may flush at other places:
the lost one may have flushed, and a sink may have written, between the key's insertion and its
deletion. If a sink writes by key and at least once, operators therefore flush before the deletion.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from millrace.state.columns.hash_index import Positions, distinct

__all__ = ["last_retractions"]

Flags = npt.NDArray[np.bool_]


def last_retractions(
    slots: Positions,
    signs: npt.NDArray[np.int8],
    counts: npt.NDArray[np.int64],
    seen: Callable[[Positions], Flags],
) -> Flags | None:
    """Flags of the rows before which to flush: the last retractions of keys that would come and go
    unseen. None if there are none.

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
    last_added = np.full(retracted.size, -1)
    np.maximum.at(last_added, owners[added], added)
    of_unseen = (owners >= 0) & unseen.take(np.maximum(owners, 0))
    later: Flags = of_unseen & (np.arange(slots.size) > last_added.take(np.maximum(owners, 0)))
    return later
