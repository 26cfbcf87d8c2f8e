"""Positions in a columnar table: which are in use, and which the open and the waiting epoch have
changed. Numeric columns by position are restored by a roll-back.

A position that an epoch removed keeps its key and its values as long as a roll-back can need them:
it is freed when it is not in use and neither epoch touched it.

An operator that emits changes more than once in an epoch marks each time up to which it has emitted
them (`PositionSpace.mark`). The log of the open epoch is then in two parts: the states before the
epoch of what was touched before the mark, and the states at the mark of what was touched since.

All costs depend on the number of positions that an epoch touches, never on the size of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions

__all__ = ["FormerPositions", "PositionSpace", "ValueColumn"]

_NONE = np.empty(0, np.int64)


class ValueColumn(NamedTuple):
    """NumPy column of values that change in place.

    Attributes:
        dtype: type in NumPy; ``object`` for values without a type of their own (big integers,
            texts).
        initial: value at a new position.
        name: display name.
    """

    dtype: np.dtype[Any]
    initial: Any = 0
    name: str = ""


class FormerPositions(NamedTuple):
    """Former state of positions: before the open epoch touched them, or at the last mark.

    Attributes:
        positions: distinct positions.
        live: whether each position was in use.
        values: values at the positions, by column; undefined for positions that were not in use.
    """

    positions: Positions
    live: npt.NDArray[np.bool_]
    values: list[npt.NDArray[Any]]


class PositionSpace:
    """Positions from 0 on; freed positions are used again.

    Example:
        >>> space = PositionSpace([ValueColumn(np.dtype("i8"))])
        >>> new = space.allocate(2)
        >>> space.values[0][new] += 5
        >>> space.roll_back().tolist(), space.count
        ([0, 1], 0)
    """

    def __init__(self, columns: Sequence[ValueColumn] = ()) -> None:
        self.columns = list(columns)
        self.values: list[npt.NDArray[Any]] = [np.zeros(0, column.dtype) for column in columns]
        """Arrays of values by position; an allocation may replace them by longer ones."""
        self.live = np.zeros(0, np.bool_)
        """Whether each position is in use."""
        self.count = 0
        """Number of positions in use."""
        self.end = 0
        """First position that has never been used; no later position has been used either."""
        self._dirty = np.zeros(0, np.bool_)
        """Whether each position was touched since the last mark."""
        self._scratch = np.zeros(0, np.int64)
        self._undo: list[FormerPositions] = []
        """States at the last mark, or at the begin of the epoch if there is none."""
        self._noted = np.zeros(0, np.bool_)
        """Whether the open epoch touched each position before the last mark."""
        self._before_mark: list[FormerPositions] = []
        """States at the begin of the epoch, of the positions touched before the last mark."""
        self._held = np.zeros(0, np.bool_)
        """Whether the waiting epoch touched each position, as ``_dirty`` for the open epoch."""
        self._waiting: list[FormerPositions] = []
        self._touched = 0
        self._free = np.zeros(0, np.int64)
        self._free_count = 0

    # -- the open epoch ----------------------------------------------------------------

    def allocate(self, count: int, undoable: bool = True) -> Positions:
        """New positions with initial values. If ``undoable``, they belong to the open epoch."""
        again = min(count, self._free_count)
        self._free_count -= again
        reused = self._free[self._free_count : self._free_count + again]
        fresh = np.arange(self.end, self.end + count - again)
        positions = np.concatenate([reused, fresh]) if again else fresh
        self.end += fresh.size
        self._grow()
        if undoable and count:
            self._dirty[positions] = True
            self._undo.append(FormerPositions(positions, np.zeros(count, np.bool_), []))
            self._touched += count
        self._start(positions)
        return positions

    def touch(self, positions: Positions) -> None:
        """Record the state of positions before they change; a position may occur repeatedly."""
        fresh = positions[~self._dirty.take(positions)]
        if not fresh.size:
            return
        numbers = np.arange(fresh.size)
        self._scratch[fresh] = numbers
        fresh = fresh[self._scratch.take(fresh) == numbers]
        self._dirty[fresh] = True
        values = [column.take(fresh) for column in self.values]
        self._undo.append(FormerPositions(fresh, self.live.take(fresh), values))
        self._touched += fresh.size

    def remove(self, positions: Positions) -> None:
        """Mark positions as not in use; they are freed when the epoch is sealed. The positions must
        be all different."""
        self.touch(positions)
        self.count -= int(np.count_nonzero(self.live.take(positions)))
        self.live[positions] = False

    def revive(self, positions: Positions) -> None:
        """Put positions in use again, with initial values. The open or the waiting epoch has
        removed them. The positions must be all different.
        """
        self.touch(positions)
        self._start(positions)

    def discard(self, positions: Positions) -> None:
        """Free positions immediately, while no epoch is open. All positions must be different."""
        self.count -= int(np.count_nonzero(self.live.take(positions)))
        self._release(positions)

    # -- its end -----------------------------------------------------------------------

    @property
    def touched(self) -> int:
        """Number of positions that the open epoch touched. A position that it touched before and
        after a mark may count twice."""
        return self._touched

    def changed(self) -> tuple[Positions, Positions]:
        """Positions that the open epoch set, and positions that it removed and that existed
        before the epoch."""
        log = self._log()
        if not log:
            return _NONE, _NONE
        positions = _touched_by(log)
        before = np.concatenate([undo.live for undo in log])
        now = self.live.take(positions)
        return positions[now], positions[before & ~now]

    def former(self) -> FormerPositions:
        """State, before the open epoch, of the positions that it touched."""
        return self._joined(self._log())

    def marked(self) -> FormerPositions:
        """State of the positions that were touched after the last mark, as of this mark. Without a
        mark, as of the beginning of the open epoch.
        """
        return self._joined(self._undo)

    def live_at_mark(self, positions: Positions) -> npt.NDArray[np.bool_]:
        """Mask of the positions that were in use at the last mark. Without a mark, at the beginning
        of the open epoch.
        """
        live = self.live.take(positions)
        touched = self._dirty.take(positions)
        if touched.any():
            before = np.concatenate([undo.live for undo in self._undo])
            log = _touched_by(self._undo)
            self._scratch[log] = np.arange(log.size)
            live[touched] = before.take(self._scratch.take(positions[touched]))
        return live

    def mark(self) -> None:
        """Set a mark in the open epoch: `marked` then returns the states at this mark."""
        if not self._undo:
            return
        self._before_mark = self._log()
        positions = _touched_by(self._undo)
        self._noted[positions] = True
        self._dirty[positions] = False
        self._undo = []

    def _log(self) -> list[FormerPositions]:
        """States before the open epoch, with each position once."""
        if not self._before_mark:
            return self._undo
        return self._before_mark + [
            new for undo in self._undo if (new := _only(undo, ~self._noted.take(undo.positions)))
        ]

    def _joined(self, log: list[FormerPositions]) -> FormerPositions:
        if not log:
            return FormerPositions(
                _NONE, np.zeros(0, np.bool_), [values[:0] for values in self.values]
            )
        values = [
            np.concatenate(
                [
                    undo.values[number]
                    if undo.values
                    else np.zeros(undo.positions.size, column.dtype)
                    for undo in log
                ]
            )
            for number, column in enumerate(self.values)
        ]
        live = np.concatenate([undo.live for undo in log])
        return FormerPositions(_touched_by(log), live, values)

    def seal(self) -> Positions:
        """Accept the open epoch; returns the positions that it freed."""
        return self._freed(self._forget())

    def roll_back(self) -> Positions:
        """Undo the open epoch; returns the positions that it had allocated."""
        self._restore(self._undo)  # to the mark
        self._restore(self._before_mark)
        return self._freed(self._forget())

    def begin_next(self) -> None:
        """Let the open epoch wait, and open the next one. No epoch may wait already."""
        if self._before_mark:
            self._waiting = self._log()
            self._held[self._forget()] = True
        else:
            self._waiting, self._undo = self._undo, []
            self._held, self._dirty = self._dirty, self._held
            self._touched = 0

    @property
    def waits(self) -> bool:
        """Whether there is a waiting epoch that touched positions."""
        return bool(self._waiting)

    @property
    def waiting(self) -> Positions:
        """Positions that the waiting epoch touched."""
        return _touched_by(self._waiting)

    def accept(self) -> Positions:
        """Accept the waiting epoch; returns the positions that it freed."""
        return self._freed(self._forget_waiting())

    def roll_back_waiting(self) -> Positions:
        """Undo the waiting epoch, after the open one was rolled back; returns the positions that
        it had allocated."""
        self._restore(self._waiting)
        return self._freed(self._forget_waiting())

    def is_kept(self, positions: Positions) -> npt.NDArray[np.bool_]:
        """Mask of the positions that are in use now, or that a roll-back would put in use again."""
        kept = self.live.take(positions)
        if self._undo:
            kept |= self._dirty.take(positions)
        if self._before_mark:
            kept |= self._noted.take(positions)
        if self._waiting:
            kept |= self._held.take(positions)
        return kept

    def is_settled(self, positions: Positions) -> npt.NDArray[np.bool_]:
        """Mask of the positions that are in use, and that neither the open nor the waiting epoch
        touched."""
        touched = self._dirty.take(positions) | self._held.take(positions)
        if self._before_mark:
            touched |= self._noted.take(positions)
        return self.live.take(positions) & ~touched

    def _restore(self, log: list[FormerPositions]) -> None:
        for undo in log:
            self.count += int(np.count_nonzero(undo.live))
            self.count -= int(np.count_nonzero(self.live.take(undo.positions)))
            self.live[undo.positions] = undo.live
            for column, values in zip(self.values, undo.values, strict=False):
                column[undo.positions] = values

    def _forget(self) -> Positions:
        """Forget the log of the open epoch; returns the positions in it."""
        positions = _touched_by(self._log())
        self._dirty[positions] = False
        self._undo.clear()
        if self._before_mark:
            self._noted[positions] = False
            self._before_mark = []
        self._touched = 0
        return positions

    def _forget_waiting(self) -> Positions:
        """Forget the log of the waiting epoch; returns the positions in it."""
        positions = _touched_by(self._waiting)
        self._held[positions] = False
        self._waiting = []
        return positions

    def _freed(self, positions: Positions) -> Positions:
        """Free those of the distinct positions that are not kept, and return them."""
        if not positions.size:
            return positions
        freed = positions[~self.is_kept(positions)]
        self._release(freed)
        return freed

    def _start(self, positions: Positions) -> None:
        self.live[positions] = True
        self.count += positions.size
        for column, values in zip(self.columns, self.values, strict=True):
            values[positions] = column.initial

    def _release(self, positions: Positions) -> None:
        self.live[positions] = False
        self._free = grown(self._free, self._free_count + positions.size)
        self._free[self._free_count : self._free_count + positions.size] = positions
        self._free_count += positions.size

    def _grow(self) -> None:
        if self.end > self.live.size:
            self.live = grown(self.live, self.end)
            self._dirty = grown(self._dirty, self.end)
            self._held = grown(self._held, self.end)
            self._noted = grown(self._noted, self.end)
            self._scratch = grown(self._scratch, self.end)
            self.values = [grown(values, self.end) for values in self.values]


def _touched_by(log: list[FormerPositions]) -> Positions:
    return np.concatenate([undo.positions for undo in log]) if log else _NONE


def _only(undo: FormerPositions, mask: npt.NDArray[np.bool_]) -> FormerPositions | None:
    """The masked part of a log's entry; None if it is empty."""
    if mask.all():
        return undo
    values = [column[mask] for column in undo.values]
    return FormerPositions(undo.positions[mask], undo.live[mask], values) if mask.any() else None
