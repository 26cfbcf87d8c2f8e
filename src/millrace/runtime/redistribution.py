"""Restores a subtask's state from the state of other subtasks, after a change of parallelism, of
chains or of the job.

What a subtask restores is a function of the state handles in its plan alone, so a worker that does
it later than another comes to the same. Semantics: Flink docs, "Scaling and max parallelism" for
keyed state, "Working with State" for split, union and broadcast state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.errors import CheckpointError
from millrace.runtime.epoch import RestoreAssignment, StateHandle
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.delta_payload import Loader
from millrace.state.key_group_filter import KeyGroupFilter
from millrace.state.key_groups import key_group_range
from millrace.state.kinds.table_kind import TableKind
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId

Key = tuple[str, ...]
"""Key of a declared value: uid of the operator, name of the state, and the split's id if there is a
value per split."""


@dataclass(frozen=True, slots=True)
class RestoringSubtask:
    """Subtask whose state is restored."""

    index: int
    parallelism: int
    max_parallelism: int
    operators: Mapping[str, str]
    """Names of the operators by uid."""
    states: Mapping[TableId, OperatorStateDeclaration]
    """State declarations of the operators, and of the subtask itself."""
    splits: frozenset[str] = frozenset()
    """Ids of the source splits that the plan assigns to the subtask."""
    reads: frozenset[str] = frozenset()
    """Uids of the sources of these splits."""


@dataclass(slots=True)
class _Former:
    """Values of one key, from the subtasks before the change of parallelism."""

    parallelism: int
    values: list[Any] = field(default_factory=list)


class Redistribution:
    """Fills a subtask's state from the handles of other subtasks."""

    def __init__(self, state: SubtaskState, subtask: RestoringSubtask, load: Loader) -> None:
        self._state = state
        self._subtask = subtask
        self._load = load
        self._own = key_group_range(subtask.index, subtask.parallelism, subtask.max_parallelism)
        self._is_ours = KeyGroupFilter(self._own, subtask.max_parallelism)

    def restore(self, assignment: RestoreAssignment, version: str) -> None:
        """Replace the state with the state of ``assignment``, and set its version to ``version``.

        Raises:
            CheckpointError: there is state that an operator does not declare.
        """
        state, subtask = self._state, self._subtask
        state.reset()
        to_split: set[TableId] = set()
        values: dict[Key, Any] = {}
        former: dict[Key, _Former] = {}
        for handle in assignment.handles:
            for key, value in self._take(handle, assignment, to_split).items():
                if handle.parallelism != subtask.parallelism:
                    known = former.setdefault(key, _Former(handle.parallelism))
                    known.values.append(value)
                elif handle.subtask == subtask.index:
                    values[key] = self._unchanged(key, value, assignment)
        state.split_lists(subtask.index, subtask.parallelism, to_split)
        for key, of_key in former.items():
            values.update(self._redistributed(key, of_key))
        state.operator_table().data.update(values)
        state.adopt(version, assignment.is_divided)

    # -- one state handle ----------------------------------------------------------------

    def _take(
        self, handle: StateHandle, assignment: RestoreAssignment, to_split: set[TableId]
    ) -> dict[Key, Any]:
        """Add the parts of the handle's tables that belong to this subtask, and return the
        handle's declared values. ``to_split`` collects the lists of which only a part belongs to
        this subtask."""
        theirs = self._keys_of(handle)
        overlaps = handle.divided or (
            theirs.start < self._own.stop and self._own.start < theirs.stop
        )

        def wants(name: TableId, kind: TableKind) -> bool:
            if name.uid not in self._subtask.operators or self._stays_behind(name, assignment):
                return False
            mode = kind.redistribution
            if mode is RedistributionMode.KEY_GROUP:
                return overlaps
            if mode is RedistributionMode.SPLIT and not self._same_parallelism(handle):
                to_split.add(name)
            return self._wants(handle, mode)

        all_ours = handle.divided or (
            self._own.start <= theirs.start and theirs.stop <= self._own.stop
        )
        keep = None if all_ours else self._is_ours
        taken = self._state.take(handle.deltas, self._load, wants, keep, handle.subtask, self._own)
        return {key: value for key, value in taken.items() if self._ours(key, handle, assignment)}

    def _keys_of(self, handle: StateHandle) -> range:
        return key_group_range(handle.subtask, handle.parallelism, self._subtask.max_parallelism)

    def _same_parallelism(self, handle: StateHandle) -> bool:
        return handle.parallelism == self._subtask.parallelism

    def _wants(self, handle: StateHandle, mode: RedistributionMode) -> bool:
        """Whether this subtask reads a list or map of the handle."""
        if mode is RedistributionMode.BROADCAST:  # all of them hold the same
            return handle.subtask == self._subtask.index % handle.parallelism
        if mode is RedistributionMode.SPLIT and self._same_parallelism(handle):
            return handle.subtask == self._subtask.index
        return True

    def _stays_behind(self, name: TableId, assignment: RestoreAssignment) -> bool:
        declared = self._subtask.states.get(name)
        return assignment.forked and declared is not None and declared.dropped_on_fork

    def _ours(self, key: Key, handle: StateHandle, assignment: RestoreAssignment) -> bool:
        """Whether this subtask restores a value of another subtask: its operator is in this
        subtask, or it is a value of the subtask itself."""
        name = TableId(*key[:2])
        declared = self._subtask.states.get(name)
        if declared is None:
            if name.uid in self._subtask.operators:
                raise CheckpointError(
                    f"the snapshot has state '{name.name}' of operator "
                    f"'{self._subtask.operators[name.uid]}' (uid {name.uid}), which does "
                    "not declare it: another kind of operator had this uid. Give the "
                    "present operator a uid of its own"
                )
            return False
        if declared.of_inputs and not (handle.head and assignment.same_inputs):
            return False
        return not self._stays_behind(name, assignment)

    # -- values --------------------------------------------------------------------------

    def _declared(self, key: Key) -> OperatorStateDeclaration:
        return self._subtask.states[TableId(*key[:2])]

    def _unchanged(self, key: Key, value: Any, assignment: RestoreAssignment) -> Any:
        """Restored value for a subtask whose parallelism has not changed: the same value, unless
        it depends on input channels that have changed."""
        declared = self._declared(key)
        if declared.of_inputs and not assignment.same_channels:
            assert declared.merge is not None
            return declared.merge([value])
        return value

    def _redistributed(self, key: Key, former: _Former) -> dict[Key, Any]:
        """This subtask's part of the values of a former parallelism."""
        declared, values = self._declared(key), former.values
        if declared.mode is RedistributionMode.SOURCE_SPLIT:
            return {key: values[0]} if key[-1] in self._subtask.splits else {}
        if declared.of_readers and key[0] not in self._subtask.reads:
            return {}
        if len(values) < former.parallelism:
            return {}  # what one of them has never said cannot be said for all
        if declared.mode is RedistributionMode.SMALLEST_WATERMARK:
            return {key: min(values)}
        assert declared.merge is not None
        return {key: declared.merge(values)}
