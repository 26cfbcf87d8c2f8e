"""Reader of one part of a table or query, through a server-side cursor, as columns."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from millrace.common.source import SplitReader
from millrace.common.types.batch import ColumnBatch
from millrace.connectors.jdbc.client import JdbcError, connect, create_engine, telling
from millrace.connectors.jdbc.select import Selection
from millrace.connectors.jdbc.table_splits import JdbcReading, JdbcSplit
from millrace.connectors.row_columns import as_columns

if TYPE_CHECKING:
    from sqlalchemy import Connection, CursorResult

__all__ = ["JdbcSplitReader"]

_FETCHED = 10_000
_log = logging.getLogger(__name__)


class JdbcSplitReader(SplitReader[Any]):
    """Reads one split. The reader's position is the last value of the split column, and the number
    of rows read with this value. Rows with equal values are ordered by the primary key, or else by
    all their columns.

    Of texts it is how many rows were read at all, but on PostgreSQL: elsewhere a collation says
    which are equal, and that of MariaDB's tables ignores case, accents and spaces at the end.
    """

    def __init__(self, reading: JdbcReading, split: JdbcSplit, position: Any) -> None:
        self._reading = reading
        self._split = split
        self._last: Any = None if position is None else position[0]
        self._count: int = 0 if position is None else position[1]
        self._engine = create_engine(reading.connection)
        self._connection: Connection | None = None
        self._selection: Selection | None = None
        self._result: CursorResult[Any] | None = None
        self._finished = False

    def read(self, max_records: int) -> ColumnBatch:
        with telling(self._engine):
            selection, result = self._opened()
            rows: Sequence[Any] = result.fetchmany(max_records)
        self._finished = len(rows) < max_records
        width = len(selection.schema)
        if rows and len(rows[0]) != width + (selection.split_column is not None):
            raise JdbcError(
                f"the query gives {len(rows[0])} columns, the declared type has {width}"
            )
        if rows and selection.split_column is not None:
            self._advance([row[width] for row in rows])
            rows = [row[:width] for row in rows]
        else:
            self._count += len(rows)
        return ColumnBatch(as_columns(rows, selection.schema, JdbcError), form="row")

    def _advance(self, values: list[Any]) -> None:
        last = values[-1]
        if isinstance(last, str) and self._engine.dialect.name != "postgresql":
            self._count += len(values)
            return
        same = next((i for i, v in enumerate(reversed(values)) if not _equal(v, last)), len(values))
        goes_on = same == len(values) and _equal(self._last, last)
        self._count = same + (self._count if goes_on else 0)
        self._last = last

    def _opened(self) -> tuple[Selection, CursorResult[Any]]:
        if self._selection is None or self._result is None:
            self._connection = connection = connect(self._engine)
            self._enter_snapshot(connection)
            self._selection = Selection(connection, self._reading)
            statement, parameters = self._selection.statement(self._split, self._last)
            streamed = connection.execution_options(stream_results=True, max_row_buffer=_FETCHED)
            self._result = streamed.execute(statement, parameters)
            left = self._count
            while left > 0:  # these were read before
                skipped = len(self._result.fetchmany(min(left, _FETCHED)))
                left = left - skipped if skipped else 0
        return self._selection, self._result

    def _enter_snapshot(self, connection: Connection) -> None:
        import sqlalchemy

        if self._split.snapshot is None:
            return
        connection.execution_options(isolation_level="REPEATABLE READ")
        try:
            connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{self._split.snapshot}'")
        except sqlalchemy.exc.DBAPIError:
            connection.rollback()
            _log.warning("the snapshot ended with an earlier run: the rest is read as it is now")

    def position(self) -> Any:
        return self._last, self._count

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        for opened in (self._result, self._connection):
            if opened is not None:
                with suppress(Exception):
                    opened.close()


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are equal to a database, as NaN is to itself."""
    return bool(one == other) or (_is_nan(one) and _is_nan(other))


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, Decimal)) and math.isnan(value)
