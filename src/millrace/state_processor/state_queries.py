"""Queries of the entries of states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.snapshot_entries import entries_of
from millrace.state.snapshot_reader import SnapshotReader, StateInfo
from millrace.state_processor.state_rows import rows_of
from millrace.state_processor.state_source import StateSource

__all__ = ["ConcatenatedQuery", "EntriesQuery"]

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class EntriesQuery:
    """The entries of one state."""

    source: StateSource
    info: StateInfo

    @staticmethod
    def of(reader: SnapshotReader, info: StateInfo) -> EntriesQuery | UnionQuery:
        """The query of a state of a snapshot."""
        source = StateSource.of(reader, info.stage, info.needed_subtasks)
        is_union = info.kind.redistribution is RedistributionMode.UNION
        return UnionQuery(source, info) if is_union else EntriesQuery(source, info)

    @property
    def tasks(self) -> int:
        """Number of tasks: one per subtask."""
        return len(self.source.subtasks)

    def rows(self, task: int) -> Iterator[Row]:
        """The entries of a subtask."""
        state = self.source.restore(task, self.info)
        if self.info.table not in state.tables:
            return iter(())
        return rows_of(self.info, entries_of(state, self.info.table))


@dataclass(frozen=True, slots=True)
class UnionQuery:
    """The elements of a union list; several subtasks may have the same elements."""

    source: StateSource
    info: StateInfo

    @property
    def tasks(self) -> int:
        """Number of tasks: one, so that each element counts once."""
        return 1

    def rows(self, task: int) -> Iterator[Row]:
        """The elements of all subtasks."""
        elements = {}
        for position in range(len(self.source.subtasks)):
            state = self.source.restore(position, self.info)
            if self.info.table in state.tables:
                entries = entries_of(state, self.info.table)
                elements.update({entry.key: entry for entry in entries})
        return rows_of(self.info, elements.values())


@dataclass(frozen=True, slots=True)
class ConcatenatedQuery:
    """Several queries with the same columns, one after the other."""

    parts: tuple[Any, ...]

    @property
    def tasks(self) -> int:
        """Number of tasks of all queries."""
        return sum(part.tasks for part in self.parts)

    def rows(self, task: int) -> Iterator[Row]:
        """The rows that one task reads, with the query to which the task belongs."""
        for part in self.parts:
            if task < part.tasks:
                return iter(part.rows(task))
            task -= part.tasks
        raise IndexError(task)
