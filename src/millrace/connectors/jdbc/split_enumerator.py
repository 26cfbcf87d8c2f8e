"""Enumerator of a JDBC source: cuts the table or query into parts, and keeps open the database
snapshot that readers use.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.common.source import SourceSplit, SplitEnumerator
from millrace.connectors.jdbc.client import JdbcError, connect, create_engine, telling
from millrace.connectors.jdbc.select import Selection
from millrace.connectors.jdbc.table_splits import (
    JdbcReading,
    JdbcSplit,
    largest,
    later_splits,
    range_splits,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["JdbcEnumerator"]

_LOG = logging.getLogger(__name__)


class JdbcEnumerator(SplitEnumerator):
    """Finds the parts once; each subtask reads one part at a time, over one connection.

    In runs on what is available it finds, of a source with a split column, what is behind the
    value that the run before has read up to: its state.
    """

    def __init__(self, reading: JdbcReading) -> None:
        self._reading = reading
        self._found = False
        self._until: Any = None
        """The largest value of the split column that runs so far have read up to."""
        self._follows = False
        """Whether this run is to go on where the one before has ended."""
        self._has_no_end = False
        """Whether a run has read that had no such end: up to which value nobody knows."""
        self._snapshot: Connection | None = None

    def prepare_for_available_now(self, now: int) -> None:
        if self._reading.split_column is None:
            return
        if self._has_no_end:
            _LOG.warning(
                "%s: the state is from a run that was not an available-now run, so the last "
                "value that it has read is unknown, and later rows are not read; start "
                "without this state to read all rows",
                self._reading.table or "a query",
            )
            return
        self._found, self._follows = False, True

    def discover(self, now: int) -> Sequence[SourceSplit]:
        """All parts at the first call, nothing later.

        Raises:
            JdbcError: the database cannot be asked.
        """
        if self._found:
            return ()
        engine = create_engine(self._reading.connection)
        try:
            with telling(engine):
                connection = connect(engine)
                try:
                    splits = self._splits(connection)
                finally:
                    if connection is not self._snapshot:
                        connection.close()
        except ConnectionError as error:
            raise JdbcError(f"the parts to read cannot be found: {error}") from None
        self._found = True
        return splits

    def _splits(self, connection: Connection) -> list[JdbcSplit]:
        reading, snapshot = self._reading, None
        if reading.snapshot:
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
            snapshot = connection.exec_driver_sql("SELECT pg_export_snapshot()").scalar()
            self._snapshot = connection  # others may read in it while its transaction is open
        selection = Selection(connection, reading)
        if selection.split_column is not None:
            splits = self._ranges(connection, selection.base, selection.split_column)
        elif reading.conditions:
            splits = [
                JdbcSplit(f"condition-{i}", condition=condition)
                for i, condition in enumerate(reading.conditions)
            ]
        elif reading.parameters:
            splits = [
                JdbcSplit(f"parameters-{i}", parameters=parameters)
                for i, parameters in enumerate(reading.parameters)
            ]
        else:
            splits = [JdbcSplit("all")]
        return [replace(split, snapshot=snapshot) for split in splits]

    def _ranges(self, connection: Connection, base: str, column: str) -> list[JdbcSplit]:
        parts = self._reading.splits
        if not self._follows:
            self._has_no_end = True
            return range_splits(connection, base, column, parts)
        before, until = self._until, largest(connection, base, column, self._until)
        if until is None:
            return []
        self._until = until
        if before is not None:
            return later_splits(before, until, parts)
        splits = range_splits(connection, base, column, parts)
        # the last part has no end of its own; what comes meanwhile is the next run's
        return [split if split.is_null else replace(split, until=until) for split in splits]

    def max_active_splits(self) -> int | None:
        return 1

    def no_more_splits(self) -> bool:
        return self._found

    def snapshot_state(self) -> Any:
        return {"found": self._found, "until": self._until, "has_no_end": self._has_no_end}

    def restore_state(self, state: Any) -> None:
        if isinstance(state, dict):
            self._found, self._until = state["found"], state["until"]
            self._has_no_end = bool(state.get("has_no_end"))
        else:  # of a version that did not go on
            self._found = self._has_no_end = bool(state)

    def close(self) -> None:
        if self._snapshot is not None:
            with suppress(Exception):
                self._snapshot.close()
