"""Writes the state in a native snapshot as the Parquet files of a canonical savepoint.

The deltas are replayed into tables, subtask by subtask. Values stay in the plain form in which they
were written, so the program and its classes are needed only for pickled values.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from millrace.common.errors import KeyTypeError
from millrace.common.types.plain_data import from_plain
from millrace.common.types.type_information import TypeInformation
from millrace.filesystem.registry import file_system_of
from millrace.state.canonical.arrow_rows import arrow_rows, groups_of_entries
from millrace.state.canonical.columns import schema_of_values
from millrace.state.canonical.opaque_parts import tagged
from millrace.state.canonical.state_file import file_names, write_rows
from millrace.state.canonical.stored_state import STATES, StateFile, StoredState
from millrace.state.canonical.table_rows import Columns, declared_columns, rows_of
from millrace.state.checkpoint.delta_file import DeltaLoader, SubtaskKey
from millrace.state.columns.column_entries import ColumnEntries
from millrace.state.internal_tables import FEEDBACK
from millrace.state.key_groups import owners_of_keys
from millrace.state.kinds.entry_columns import KEY, NAME, VALUE
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.schema import ANY, Schema, has_class, type_of_schema
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import kind_named

__all__ = ["write_states"]

Deltas = Mapping[SubtaskKey, list[StateDelta]]
KeyTypes = Mapping[str, TypeInformation[Any] | None]


def write_states(
    path: str,
    job_dir: str,
    deltas: Deltas,
    max_parallelism: int,
    key_types: KeyTypes,
) -> tuple[StoredState, ...]:
    """Write the files of all states; returns the manifest's entries for them.

    Args:
        path: the directory of the savepoint.
        job_dir: the directory to which paths in the deltas are relative.
        deltas: the live deltas of every subtask.
        key_types: the known types of keys, by uid. Keys that are instances of classes have no key
            groups without their type.

    Raises:
        CheckpointCorruptError: a delta is damaged.
        OSError: the file system refused.
    """
    writer = _Writer(path, max_parallelism, key_types)
    load = DeltaLoader(job_dir)
    for (stage, subtask), subtask_deltas in deltas.items():
        state = SubtaskState()
        state.restore("canonical", subtask_deltas, load)
        for table in sorted(state.tables):
            writer.add(stage, subtask, table, state)
    states = writer.states()
    file_system_of(path).sync([*writer.paths, *_directories(writer.paths)])
    return states


def _directories(paths: list[str]) -> set[str]:
    """All directories above the files in ``paths``: one per table, one per operator, and the
    directory of all states."""
    tables = {os.path.dirname(file) for file in paths}
    operators = set(map(os.path.dirname, tables))
    return tables | operators | set(map(os.path.dirname, operators))


@dataclass
class _Draft:
    """Manifest entry of a state while its files are being written. The first file with rows
    determines the types.

    Attributes:
        empty: subtasks before that file, with their columns without rows. Their files wait for the
            types.
    """

    state: StoredState
    files: list[StateFile] = field(default_factory=list)
    empty: list[tuple[int, Columns]] = field(default_factory=list)


class _Writer:
    def __init__(
        self,
        path: str,
        max_parallelism: int,
        key_types: KeyTypes,
    ) -> None:
        self._path = path
        self._max_parallelism = max_parallelism
        self._key_types = key_types
        self._drafts: dict[tuple[str, TableId], _Draft] = {}
        self.paths: list[str] = []

    def states(self) -> tuple[StoredState, ...]:
        """The manifest's entries for the written states. All subtasks have been added."""
        for draft in self._drafts.values():
            self._write_empty(draft)
        return tuple(replace(d.state, files=tuple(d.files)) for d in self._drafts.values())

    def add(self, stage: str, subtask: int, table: TableId, state: SubtaskState) -> None:
        """Write the entries that a subtask has in one table."""
        kind, schema = state.kind(table), state.schema(table)
        table_delta = state.tables[table].scan(None, sys.maxsize).table_delta
        draft = self._draft(stage, table, kind)
        entries = table_delta["put"]
        groups: Any | None = None
        if kind.columnar is not None and isinstance(entries, ColumnEntries):
            rows, columns = arrow_rows(kind, entries)
            if draft.files and draft.state.columns != columns:
                rows = rows_of(kind, table_delta)
            elif not draft.files:
                draft.state = replace(draft.state, schema=schema, columns=columns)
            groups = groups_of_entries(entries, self._max_parallelism)
        else:
            rows = rows_of(kind, table_delta)
            if table.name == FEEDBACK:
                rows[VALUE] = list(map(tagged, rows[VALUE]))
            if not draft.files:
                declared = None if kind.columnar is not None else schema
                columns = _columns(declared_columns(kind, declared), rows)
                draft.state = replace(draft.state, schema=schema, columns=columns)
            if kind.columnar is None and not draft.files and not any(rows.values()):
                draft.empty.append((subtask, rows))
                return
            if KEY in rows:
                groups = self._groups(draft.state, rows[KEY])
        if kind.columnar is None or entries:  # no rows would tell no types to the other subtasks
            self._write_empty(draft)
            draft.files.append(self._written(draft.state, rows, groups, subtask))

    def _write_empty(self, draft: _Draft) -> None:
        """Write the files of the subtasks that wait for the types."""
        for subtask, rows in draft.empty:
            groups = self._groups(draft.state, []) if KEY in rows else None
            draft.files.append(self._written(draft.state, rows, groups, subtask))
        draft.empty.clear()

    def _draft(self, stage: str, table: TableId, kind: TableKind) -> _Draft:
        draft = self._drafts.get((stage, table))
        if draft is None:
            draft = _Draft(StoredState(stage, *table, kind.name, None, {}, ()))
            self._drafts[stage, table] = draft
        return draft

    def _written(
        self, state: StoredState, rows: Columns, groups: Any | None, subtask: int
    ) -> StateFile:
        count = len(rows[next(iter(state.columns))])
        directory = file_names((state.uid or state.stage, state.name))
        relative = f"{STATES}/{directory}/part-{subtask:05d}.parquet"
        path = os.path.join(self._path, relative)
        length, sha256, pickled = write_rows(path, rows, state.columns, groups)
        self.paths.append(path)
        return StateFile(relative, subtask, count, length, sha256, pickled)

    def _groups(self, state: StoredState, keys: list[Any]) -> Any | None:
        """Key groups of keys in plain form; None if they are unknown."""
        columnar = kind_named(state.kind).columnar is not None
        written: Schema = ANY if state.schema is None or columnar else state.schema[1]
        if written != ANY:
            known = self._key_types.get(state.uid)
            if known is None and not has_class(written):
                known = type_of_schema(written)
            if known is None:
                return None
            real = from_plain(known)
            keys = keys if real is None else list(map(real, keys))
        try:
            most = self._max_parallelism  # a subtask for each key group
            return owners_of_keys(keys, most, most).astype(np.int32)
        except KeyTypeError:
            return None


def _columns(declared: dict[str, Schema], rows: Columns) -> dict[str, Schema]:
    """Schemas of all columns. Undeclared columns get the schema that fits the first subtask's
    values."""
    if NAME in declared:  # each operator keeps something else
        return {**declared, NAME: schema_of_values(rows[NAME])}
    return {
        name: schema_of_values(rows[name]) if schema == ANY else schema
        for name, schema in declared.items()
    }
