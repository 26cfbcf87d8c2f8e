"""State that comes from other subtasks: of another parallelism, another chain or another job.

What a subtask takes over is a function of the portions in its plan alone, so a worker that takes
them over later than another has the same. Semantics: Flink docs, "Scaling and max parallelism" for
keyed state, "Working with State" for split, union and broadcast state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from millrace.runtime.epoch import Inheritance, Portion
from millrace.runtime.watermark_valve import ValveSnapshot
from millrace.state.internal_tables import REQUESTS
from millrace.state.key_groups import KeyMemo, key_group_range
from millrace.state.layer_payload import Loader
from millrace.state.store import SubtaskState
from millrace.state.table_id import VALVE, TableId
from millrace.state.table_kinds import TABLE_KINDS, Layout

Key = tuple[str, ...]
"""See `operator_value`."""
Entries = dict[Key, Any]
"""The operators' own values of one subtask."""


@dataclass(frozen=True, slots=True)
class Heir:
    """The subtask that takes state over."""

    index: int
    parallelism: int
    max_parallelism: int
    operators: frozenset[str]
    """Their uids."""
    splits: frozenset[str]
    """The ids of the source splits that the plan gives it."""
    reads: frozenset[str]
    """The uids of the sources that these are of."""


class Redistribution:
    """Fills one subtask's state from portions of others'."""

    def __init__(self, state: SubtaskState, heir: Heir, load: Loader) -> None:
        self._state = state
        self._heir = heir
        self._load = load
        self._own = key_group_range(heir.index, heir.parallelism, heir.max_parallelism)
        self._is_ours = KeyMemo(heir.max_parallelism, self._own.__contains__)
        self._own_entries: list[tuple[Portion, Entries]] = []

    def take_over(self, inheritance: Inheritance, version: str) -> None:
        """Replace the state by what ``inheritance`` gives; it is then at ``version``."""
        state = self._state
        state.reset()
        dealt: set[TableId] = set()
        for portion in inheritance.portions:
            dealt |= self._take(portion)
        state.deal_out(self._heir.index, self._heir.parallelism, dealt)
        for key, value in self._values(inheritance).items():
            state.operator_table().data[key] = value
        state.adopt(version)

    def _take(self, portion: Portion) -> set[TableId]:
        """Merge one portion; returns the names of the lists that have to be dealt out anew."""
        to_be_dealt: set[TableId] = set()
        overlaps = portion.divided or self._overlaps(portion)
        same_width = portion.parallelism == self._heir.parallelism

        def wants(name: TableId, kind: str) -> bool:
            if kind == "split-list" and not same_width:
                to_be_dealt.add(name)
            return self._wants(portion, name, kind, overlaps)

        all_ours = portion.divided or self._contains(portion)
        keep = None if all_ours else self._is_ours.__getitem__
        values = self._state.take(portion.layers, self._load, wants, keep)
        operators = {
            key: value
            for key, value in values.items()
            if key == VALVE or key[0] in self._heir.operators
        }
        self._own_entries.append((portion, operators))
        return to_be_dealt

    def _overlaps(self, portion: Portion) -> bool:
        """Whether the portion has keys of ours: most have none."""
        theirs = self._keys_of(portion)
        return theirs.start < self._own.stop and self._own.start < theirs.stop

    def _contains(self, portion: Portion) -> bool:
        """Whether all keys of the portion are ours."""
        theirs = self._keys_of(portion)
        return self._own.start <= theirs.start and theirs.stop <= self._own.stop

    def _keys_of(self, portion: Portion) -> range:
        return key_group_range(portion.subtask, portion.parallelism, self._heir.max_parallelism)

    def _wants(self, portion: Portion, name: TableId, kind: str, overlaps: bool) -> bool:
        if name.uid not in self._heir.operators:
            return False
        if TABLE_KINDS[kind].layout is not Layout.OPERATOR:
            return overlaps
        if kind == "broadcast":  # all of them hold the same
            return portion.subtask == self._heir.index % portion.parallelism
        if kind == "split-list" and portion.parallelism == self._heir.parallelism:
            return portion.subtask == self._heir.index
        return True

    def _values(self, inheritance: Inheritance) -> Entries:
        """The operators' own values; those of a parallelism that stays are kept as they are."""
        kept: Entries = {}
        changed: dict[Key, list[tuple[int, Any]]] = {}
        widths: dict[Key, int] = {}
        for portion, entries in self._own_entries:
            for key, value in entries.items():
                if key == VALVE and not (portion.head and inheritance.keeps_event_time):
                    continue
                if inheritance.forked and key[1] == "@writer":
                    continue  # what the parent has written and not committed stays the parent's
                if portion.parallelism != self._heir.parallelism:
                    changed.setdefault(key, []).append((portion.subtask, value))
                    widths[key] = portion.parallelism
                elif portion.subtask == self._heir.index:
                    ambiguous = key == VALVE and not inheritance.same_channels
                    kept[key] = _merged_valve([value]) if ambiguous else value
        for key, parts in changed.items():
            kept.update(self._redistributed(key, parts, widths[key]))
        return kept

    def _redistributed(self, key: Key, parts: list[tuple[int, Any]], width: int) -> Entries:
        """What of the values that ``width`` subtasks had goes here."""
        heir = self._heir
        values = [value for _, value in parts]
        uid, name, *parts_of_name = key
        if name == "@writer":
            mine = [(old, value) for old, value in parts if old % heir.parallelism == heir.index]
            return {(*key, str(old)): value for old, value in mine}
        if name == "@split":
            return {key: values[0]} if parts_of_name[0] in heir.splits else {}
        if name == "@watermark" and isinstance(values[0], int) and uid not in heir.reads:
            return {}  # a source's subtask that never had a split holds nobody back
        if len(values) < width:
            return {}  # what one of them has never said cannot be said for all
        if key == VALVE:
            return {key: _merged_valve(values)}
        if name == "@watermarks":
            requests = self._state.table(TableId(uid, REQUESTS), "split-list").entry_count()
            return {key: _merged_requests(values, requests)}
        return {key: min(values, key=_ending if name == "@ended" else _mark)}


def _merged_valve(valves: Iterable[tuple[ValveSnapshot, bool]]) -> tuple[ValveSnapshot, bool]:
    """No channel is known any more, but time does not go back: what all had reached still counts.
    The channels tell their watermarks again in every epoch."""
    snapshots = list(valves)
    reached = min(snapshot[1] for snapshot, _ in snapshots)
    return ([], reached), all(ended for _, ended in snapshots)


def _merged_requests(
    values: Iterable[tuple[int, list[tuple[int, int]]]], requests: int
) -> tuple[int, list[tuple[int, int]]]:
    """The watermarks that wait among requests: the one that all had reached comes after all."""
    parts = list(values)
    passed = min(watermark for watermark, _ in parts)
    reached = min(marks[-1][1] if marks else watermark for watermark, marks in parts)
    return passed, [(requests, reached)] if reached > passed else []


def _mark(kept: Any) -> int:
    """The watermark in what a source or an assigner of timestamps keeps."""
    mark: int = kept[0] if isinstance(kept, tuple) else kept
    return mark


def _ending(kept: tuple[str, int]) -> tuple[bool, int]:
    """Orders what the beginnings of a loop keep: the loop is over when it is over for all."""
    state, watermark = kept
    return state == "released", watermark
