"""Table of one subtask in a canonical savepoint, which is read as table deltas on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import CheckpointCorruptError
from millrace.state.canonical.opaque_parts import native
from millrace.state.canonical.stored_state import StoredState, SubtaskFiles
from millrace.state.internal_tables import FEEDBACK
from millrace.state.kinds.entry_columns import VALUE
from millrace.state.table import TableDelta
from millrace.state.table_kinds import kind_named

__all__ = ["StoredTable", "tables_of_files"]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """Table in files of a savepoint, in place of an encoded table delta."""

    directory: str
    state: StoredState
    pickle_allowed: bool

    def table_deltas(self, groups: range | None = None) -> Iterator[TableDelta]:
        """Table deltas that together make up the table. Keys outside the key groups ``groups`` may
        be left out.

        Raises:
            CheckpointCorruptError: a file is missing or damaged.
            SerializationError: a value has to be unpickled, and that is not allowed.
        """
        from millrace.state.canonical.state_file import read_rows
        from millrace.state.canonical.table_rows import table_delta_of

        state = self.state
        kind = kind_named(state.kind)
        for file in state.files:
            for rows in read_rows(self.directory, file, state.columns, groups, self.pickle_allowed):
                try:
                    if state.name == FEEDBACK:
                        rows[VALUE] = [native(v, self.pickle_allowed) for v in rows[VALUE]]
                    yield table_delta_of(kind, rows)
                except (LookupError, TypeError, ValueError) as error:
                    path = f"{self.directory}/{file.path}"
                    raise CheckpointCorruptError(
                        path, f"its rows are not rows of state: {error}"
                    ) from error


def tables_of_files(files: SubtaskFiles) -> dict[tuple[str, str], tuple[str, Any, StoredTable]]:
    """Kind, schema and content of each table of a subtask."""
    return {
        state.table: (
            state.kind,
            state.schema,
            StoredTable(files.directory, state, files.pickle_allowed),
        )
        for state in files.states
    }
