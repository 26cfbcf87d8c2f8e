"""Comparison of the states of two snapshots, key by key.

Both snapshots are read subtask by subtask, so that at most one subtask of each is in memory. If
their parallelisms differ, the subtasks of both are read side by side in the order of their key
groups. A subtask with the same version in both is not read at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from millrace.common.errors import SerializationError
from millrace.state.alike import alike, encoded
from millrace.state.internal_tables import MERGING
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.kinds.state_shape import KeyedStateEntry, StateShape
from millrace.state.snapshot_reader import SnapshotReader, StateInfo
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId

__all__ = ["DifferingEntry", "StateDiff", "diff_snapshots", "is_about_data"]


class DifferingEntry(NamedTuple):
    """An entry that differs between the snapshots."""

    change: str
    """"added", "changed" or "removed"."""
    key: Any
    window: Any
    """Window of windowed state and timers; None otherwise."""
    old: Any
    """Entry in the first snapshot; None if the entry was added."""
    new: Any
    """Entry in the second snapshot; None if the entry was removed."""


@dataclass
class StateDiff:
    """Differences in one state of one operator."""

    table: TableId
    operator: str
    shape: StateShape
    before: bool
    """Whether the first snapshot has the state."""
    after: bool
    """Whether the second snapshot has the state."""
    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    """Number of compared entries that are equal. Subtasks with the same version are not
    compared."""
    samples: list[DifferingEntry] = field(default_factory=list)
    unread: str = ""
    """Reason for which the state could not be compared; empty if it was compared."""

    @property
    def uid(self) -> str:
        """Uid of the operator."""
        return self.table.uid

    @property
    def name(self) -> str:
        """Name of the state."""
        return self.table.name

    @property
    def differs(self) -> bool:
        """Whether the state differs between the snapshots."""
        return bool(self.added or self.changed or self.removed)

    def note(self, sample: DifferingEntry, limit: int) -> None:
        """Count a difference. It is also kept as a sample if there are fewer than ``limit`` samples
        of its kind.
        """
        setattr(self, sample.change, getattr(self, sample.change) + 1)
        if sum(kept.change == sample.change for kept in self.samples) < limit:
            self.samples.append(sample)


def diff_snapshots(
    a: SnapshotReader, b: SnapshotReader, samples: int = 3, internal: bool = False
) -> list[StateDiff]:
    """Entries of each state that were added, changed or removed between snapshots ``a`` and ``b``.

    States are matched by operator uid and name. Values are compared, not when they were last used
    (time to live); the lists of operator state are compared without regard to order. A state with
    pickled values that may not be read is `unread`.

    Args:
        samples: number of differences of each kind to keep per state.
        internal: whether to compare the internal states of operators, too.

    Raises:
        CheckpointCorruptError: a file of a snapshot is damaged.
    """
    pairs = _pairs(a, b, internal)
    diffs = {id(pair): pair.diff() for pair in pairs}
    for group in _by_stages(pairs):
        for number, part in enumerate(_parts(_DiffSide(a, group, 0), _DiffSide(b, group, 1))):
            for pair in group:
                diff = diffs[id(pair)]
                try:
                    if not diff.unread:
                        _compare(part, pair, diff, samples, first=not number)
                except SerializationError as error:
                    diffs[id(pair)] = replace(pair.diff(), unread=str(error))
    return [diffs[id(pair)] for pair in pairs]


@dataclass(frozen=True, slots=True)
class _Pair:
    """The same state in both snapshots; None where it is missing."""

    before: StateInfo | None
    after: StateInfo | None

    @property
    def any(self) -> StateInfo:
        info = self.after or self.before
        assert info is not None
        return info

    def side(self, index: int) -> StateInfo | None:
        return (self.before, self.after)[index]

    @property
    def stages(self) -> tuple[str, str]:
        return (self.before.stage if self.before else "", self.after.stage if self.after else "")

    def diff(self) -> StateDiff:
        info = self.any
        return StateDiff(
            info.table,
            info.operator,
            info.shape,
            self.before is not None,
            self.after is not None,
        )


def _pairs(a: SnapshotReader, b: SnapshotReader, internal: bool) -> list[_Pair]:
    before, after = (
        {i.table: i for i in reader.states() if internal or is_about_data(i)} for reader in (a, b)
    )
    return [_Pair(before.get(key), after.get(key)) for key in sorted({**before, **after})]


def is_about_data(info: StateInfo) -> bool:
    """Whether a state holds data, and not only an operator's bookkeeping."""
    return not info.internal or (info.shape.is_keyed and info.name != MERGING)


def _by_stages(pairs: Iterable[_Pair]) -> Iterable[list[_Pair]]:
    """Groups of pairs whose states are in the same stages, and so in the same subtasks."""
    groups: dict[tuple[str, str], list[_Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.stages, []).append(pair)
    return groups.values()


class _DiffSide:
    """One of the two compared snapshots, restricted to one stage."""

    def __init__(self, reader: SnapshotReader, group: list[_Pair], index: int) -> None:
        manifest = reader.snapshot.manifest
        self.reader = reader
        self.index = index
        self.stage = group[0].stages[index]
        self.max_parallelism = manifest.max_parallelism
        self.parallelism = manifest.stages.get(self.stage, 0)
        self.versions = [manifest.versions.get((self.stage, i)) for i in range(self.parallelism)]
        self._at = -1
        self._state: SubtaskState | None = None

    def range_of(self, subtask: int) -> range:
        """Key groups of a subtask."""
        return key_group_range(subtask, self.parallelism, self.max_parallelism)

    def state(self, subtask: int) -> SubtaskState | None:
        """State of a subtask; None if it cannot be read in one step. Only the state of the last
        subtask is kept in memory."""
        if subtask != self._at:
            self._state = None  # the one before may go before this one comes
            with suppress(SerializationError):
                self._state = self.reader.restore(self.stage, subtask)
            self._at = subtask
        return self._state

    def entries(self, pair: _Pair, subtasks: Iterable[int]) -> Iterator[KeyedStateEntry]:
        """Entries of a state in some subtasks."""
        info = pair.side(self.index)
        if info is None:
            return
        for subtask in subtasks:
            yield from self.reader.entries(info, subtask, self.state(subtask))


class _Part(NamedTuple):
    """A group of subtasks of both snapshots that hold the same keys."""

    a: _DiffSide
    a_subtasks: list[int]
    b: _DiffSide
    b_subtasks: list[int]
    groups: range | None
    """Key groups to compare; None for all key groups of these subtasks."""


def _parts(a: _DiffSide, b: _DiffSide) -> Iterator[_Part]:
    """Yield the parts that are to be compared, as small as possible. Parts that are known to be
    equal are left out."""
    if a.parallelism == b.parallelism and a.max_parallelism == b.max_parallelism:
        for subtask, versions in enumerate(zip(a.versions, b.versions, strict=True)):
            if versions[0] is None or versions[0] != versions[1]:
                yield _Part(a, [subtask], b, [subtask], None)
    elif not a.parallelism or not b.parallelism:
        for subtask in range(a.parallelism or b.parallelism):
            sides = ([subtask] if a.parallelism else [], [subtask] if b.parallelism else [])
            yield _Part(a, sides[0], b, sides[1], None)
    elif a.max_parallelism == b.max_parallelism:
        yield from _overlaps(a, b)
    else:
        yield _Part(a, [*range(a.parallelism)], b, [*range(b.parallelism)], None)


def _overlaps(a: _DiffSide, b: _DiffSide) -> Iterator[_Part]:
    i = j = 0
    while i < a.parallelism and j < b.parallelism:
        mine, theirs = a.range_of(i), b.range_of(j)
        common = range(max(mine.start, theirs.start), min(mine.stop, theirs.stop))
        if common:
            yield _Part(a, [i], b, [j], common)
        i, j = i + (mine.stop <= theirs.stop), j + (theirs.stop <= mine.stop)


def _compare(part: _Part, pair: _Pair, diff: StateDiff, samples: int, first: bool) -> None:
    shape = pair.any.shape
    if not shape.is_keyed:
        if first:
            _compare_unkeyed(part.a, part.b, pair, diff, samples)
        return
    old = {_identity(e, shape): e for e in _in_part(part, part.a, part.a_subtasks, pair)}
    for entry in _in_part(part, part.b, part.b_subtasks, pair):
        before = old.pop(_identity(entry, shape), None)
        _note(diff, before, entry, samples)
    for entry in old.values():
        _note(diff, entry, None, samples)


def _in_part(
    part: _Part, side: _DiffSide, subtasks: list[int], pair: _Pair
) -> Iterator[KeyedStateEntry]:
    entries = side.entries(pair, subtasks)
    groups, most = part.groups, side.max_parallelism
    if groups is None:
        return entries
    return (entry for entry in entries if key_group_of(entry.key, most) in groups)


def _identity(entry: KeyedStateEntry, shape: StateShape) -> Any:
    if shape.is_timers:
        return entry
    return (entry.key, entry.window) if shape.is_windowed else entry.key


def _compare_unkeyed(
    a: _DiffSide, b: _DiffSide, pair: _Pair, diff: StateDiff, samples: int
) -> None:
    """Compare state without keys in one step, because it is small."""
    old, new = (_unkeyed(side, pair) for side in (a, b))
    for key, entry in new.items():
        _note(diff, old.pop(key, None), entry, samples)
    for entry in old.values():
        _note(diff, entry, None, samples)


def _unkeyed(side: _DiffSide, pair: _Pair) -> dict[Any, KeyedStateEntry]:
    info = pair.side(side.index)
    if info is None:
        return {}
    entries = side.reader.entries(info)
    if not info.shape.is_operator_list:
        return {entry.key: entry for entry in entries}
    # an element is known by what it is, and by being the first, second... that is so
    counted: dict[bytes, int] = {}
    numbered = {}
    for entry in entries:
        data = encoded(entry.value)
        counted[data] = counted.get(data, 0) + 1
        numbered[data, counted[data]] = KeyedStateEntry(None, entry.value)
    return numbered


def _note(
    diff: StateDiff, old: KeyedStateEntry | None, new: KeyedStateEntry | None, samples: int
) -> None:
    entry = new or old
    assert entry is not None
    if old is not None and new is not None:
        if alike(old.value, new.value):
            diff.same += 1
            return
        change = "changed"
    else:
        change = "added" if old is None else "removed"
    values = (None if old is None else old.value, None if new is None else new.value)
    diff.note(DifferingEntry(change, entry.key, entry.window, *values), samples)
