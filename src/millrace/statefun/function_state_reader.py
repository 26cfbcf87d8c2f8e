"""States of functions in a checkpoint or savepoint, as a DataFrame."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import SerializationError, StateError
from millrace.common.types.logical.logical_type import LogicalType, VarBinaryType, VarCharType
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state_processor.state_frame import frame_of
from millrace.state_processor.state_queries import EntriesQuery
from millrace.statefun.address import TypedValue
from millrace.statefun.endpoint_update import operator_uid
from millrace.statefun.types import decoded

__all__ = ["FunctionStatesQuery", "read_function_states"]

_STATES = "states"
_TEXT = VarCharType()
_COLUMNS: dict[str, LogicalType] = {
    "function": _TEXT,
    "id": _TEXT,
    "state": _TEXT,
    "typename": _TEXT,
    "value": VarBinaryType(),
    "decoded": _TEXT,
}
_PREFIX = operator_uid("")
"""Beginning of the uids of operators of functions."""


@dataclass(frozen=True, slots=True)
class FunctionStatesQuery:
    """States of all functions in a snapshot, one row per address and state."""

    entries: EntriesQuery

    @staticmethod
    def of(reader: SnapshotReader) -> FunctionStatesQuery:
        """The query of a snapshot.

        Raises:
            StateError: the snapshot has no states of functions, or those of several operators.
        """
        states = [s for s in reader.states() if s.name == _STATES and s.uid.startswith(_PREFIX)]
        if len(states) != 1:
            operators = ", ".join(state.uid for state in states) or "none"
            raise StateError(
                f"{reader.snapshot.path} has functions of {len(states)} operators ({operators}), "
                "and one is needed"
            )
        query = EntriesQuery.of(reader, states[0])
        assert isinstance(query, EntriesQuery)
        return FunctionStatesQuery(query)

    @property
    def tasks(self) -> int:
        """Number of tasks: one per subtask."""
        return self.entries.tasks

    def rows(self, task: int) -> Iterator[Sequence[Any]]:
        """The states of a subtask."""
        for id, states in self.entries.rows(task):
            for (function, name), (typename, value, _) in states.items():
                yield function, id, name, typename, value, _text(typename, value)


def _text(typename: str, value: bytes) -> str | None:
    """Value of a built-in type as a text; None for values of other types, or damaged ones."""
    try:
        python_value = decoded(TypedValue(typename, True, value))
    except SerializationError:
        return None
    return None if isinstance(python_value, bytes) else str(python_value)


def read_function_states(
    spark: Any, path: str | os.PathLike[str], pickle_allowed: bool = False
) -> Any:
    """States of functions as a DataFrame: ``function``, ``id``, ``state``, ``typename``, ``value``
    (bytes) and ``decoded``, the value of a built-in type as a text.

    Args:
        path: as for `SavepointReader.read`.
        pickle_allowed: as for `SavepointReader.read`.

    Raises:
        CheckpointError: there is no snapshot at the path.
        StateError: the snapshot has no functions.
    """
    reader = SnapshotReader(open_snapshot(path, pickle_allowed))
    return frame_of(spark, FunctionStatesQuery.of(reader), tuple(_COLUMNS), _COLUMNS, None)
