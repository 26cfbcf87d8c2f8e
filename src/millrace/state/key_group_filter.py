"""Filter for the keys in some key groups. It takes single keys, or the columns of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.state.key_groups import KeyMemo

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["KeyGroupFilter"]


class KeyGroupFilter:
    """Key filter of a subtask that restores the state of other subtasks.

    Args:
        groups: key groups of the subtask.

    Example:
        >>> mine = KeyGroupFilter(range(64), 128)
        >>> [key for key in ("c", "d", "e") if mine(key)]
        ['d', 'e']
    """

    def __init__(self, groups: range, max_parallelism: int) -> None:
        self._groups = groups
        self._max_parallelism = max_parallelism
        self.admits = KeyMemo(max_parallelism, groups.__contains__).__getitem__
        """Function that tells whether the filter admits a key. It needs no Python frame per
        call."""

    def __call__(self, key: Any) -> bool:
        return bool(self.admits(key))

    def of_columns(self, keys: Sequence[Any], count: int) -> npt.NDArray[np.bool_]:
        """Mask of the admitted rows among ``count`` rows, whose SQL keys are in the Arrow
        columns ``keys``."""
        from millrace.state.column_key_groups import key_groups_of_sql_keys

        groups = key_groups_of_sql_keys(keys, count, self._max_parallelism)
        return (groups >= self._groups.start) & (groups < self._groups.stop)
