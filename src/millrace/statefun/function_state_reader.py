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
    def of(reader: SnapshotReader, functions: str | None = None) -> FunctionStatesQuery:
        """The query for the function states in a snapshot.

        Args:
            functions: name that the builder of the functions was given; None if the snapshot has
                those of one builder.

        Raises:
            StateError: the snapshot has no states of such functions, or those of several builders.
        """
        states = {
            state.uid.removeprefix(_PREFIX): state
            for state in reader.states()
            if state.name == _STATES and state.uid.startswith(_PREFIX)
        }
        names = ", ".join(f"'{name}'" for name in sorted(states)) or "none"
        place = reader.snapshot.path
        if functions is not None and functions not in states:
            raise StateError(f"{place} has no functions '{functions}', only: {names}")
        if functions is None and len(states) != 1:
            raise StateError(
                f"{place} has functions of {len(states)} builders ({names}), but the "
                "functions of only one can be read at a time: give its name"
            )
        state = next(iter(states.values())) if functions is None else states[functions]
        query = EntriesQuery.of(reader, state)
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
    spark: Any,
    path: str | os.PathLike[str],
    pickle_allowed: bool = False,
    functions: str | None = None,
) -> Any:
    """States of functions as a DataFrame: ``function``, ``id``, ``state``, ``typename``, ``value``
    (bytes) and ``decoded``, the value of a built-in type as a text.

    Args:
        path: as for `SavepointReader.read`.
        pickle_allowed: as for `SavepointReader.read`.
        functions: name that the builder of the functions was given; None if the job has those of
            one builder, as a ``module.yaml`` has.

    Raises:
        CheckpointError: there is no snapshot at the path.
        StateError: the snapshot has no such functions, or those of several builders.
    """
    query = FunctionStatesQuery.of(SnapshotReader(open_snapshot(path, pickle_allowed)), functions)
    return frame_of(spark, query, tuple(_COLUMNS), _COLUMNS, None)
