"""Entries for states in a canonical savepoint's manifest: their names, types and files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from millrace.state.serialization.schema import Schema
from millrace.state.table_id import TableId

__all__ = ["STATES", "StateFile", "StoredState", "SubtaskFiles", "check_path"]

STATES = "states"
"""Name of the directory that contains the directories of operators."""
_PATH = re.compile(rf"{STATES}/[A-Za-z0-9.-]+/[A-Za-z0-9.-]+/[A-Za-z0-9.-]+\.parquet")


@dataclass(frozen=True, slots=True)
class StateFile:
    """File with the entries of one state from one subtask."""

    path: str
    """Path relative to the savepoint."""
    subtask: int
    rows: int
    length: int
    """Length in bytes."""
    sha256: str
    pickled: int = 0
    """Number of pickled values in the file."""


@dataclass(frozen=True, slots=True)
class StoredState:
    """Manifest entry for one table of one stage."""

    stage: str
    uid: str
    """Uid of the operator; empty if the state does not belong to a single operator."""
    name: str
    kind: str
    schema: tuple[int, Schema, Schema, Schema] | None
    """Version, and the declared schemas of key, map key and value; None if no schema is
    declared."""
    columns: dict[str, Schema]
    """Schema of each column, by the part of an entry that the column holds."""
    files: tuple[StateFile, ...]

    @property
    def table(self) -> TableId:
        """Address of the table."""
        return TableId(self.uid, self.name)


@dataclass(frozen=True, slots=True)
class SubtaskFiles:
    """Files with all the state of one subtask. A delta may refer to them instead of holding
    bytes."""

    directory: str
    """Directory of the savepoint."""
    states: tuple[StoredState, ...]
    """The states, each with the files of this subtask only."""
    pickle_allowed: bool

    @property
    def length(self) -> int:
        """Total bytes of the files."""
        return sum(file.length for state in self.states for file in state.files)


def check_path(path: str) -> None:
    """Raises ValueError unless a path has the form of the paths in our savepoints."""
    if not _PATH.fullmatch(path) or any(part in (".", "..") for part in path.split(os.sep)):
        raise ValueError(f"{path!r} is not the path of a file of states")
