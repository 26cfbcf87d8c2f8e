"""Writes rows to a database in batches, each in a transaction of its own."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from millrace.common.sink import WriterContext, WriterEpoch
from millrace.common.types.batch import Batch, ColumnBatch
from millrace.common.types.row import Row, RowKind, shared_names
from millrace.connectors.jdbc.client import JdbcError
from millrace.connectors.jdbc.commit_log import CommitLog, staging_table
from millrace.connectors.jdbc.connection_options import JdbcConnectionOptions
from millrace.connectors.jdbc.dialect import dialect_of
from millrace.connectors.jdbc.execution_options import JdbcExecutionOptions
from millrace.connectors.jdbc.placeholders import for_driver
from millrace.connectors.jdbc.session import JdbcSession
from millrace.connectors.jdbc.target_table import StagedTable, TargetTable
from millrace.runtime.write_ahead import LoggableWriter

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["BatchWriting", "JdbcDirectWriter", "JdbcStagedBatch", "JdbcStagingWriter", "JdbcWriter"]

_TEMPORARY = "millrace_incoming"

Rows = list[tuple[Any, ...]]
Deleted = list[bool] | None


@dataclass(frozen=True)
class BatchWriting:
    """Settings for writing to a database: destination, statements and batches."""

    connection: JdbcConnectionOptions
    execution: JdbcExecutionOptions
    target: TargetTable
    statement: str | None = None
    """Statement with a ``?`` for every column, instead of a target table."""
    sink_id: str | None = None
    """Id of an exactly-once sink."""


class JdbcWriter(LoggableWriter, ABC):
    """Collects rows, and sends them as batches."""

    def __init__(self, writing: BatchWriting, context: WriterContext) -> None:
        self._writing = writing
        self._logger = context.logger
        self._rows: Rows = []
        self._deleted: Deleted = None
        self._session = JdbcSession(writing.connection, self._prepare)

    def _prepare(self, connection: Connection) -> None:
        """Prepare a new connection."""

    @abstractmethod
    def _send(self, rows: Rows, deleted: Deleted) -> None:
        """Make a batch durable."""

    def entries(self, batch: Batch) -> tuple[Any, ...]:
        target = self._writing.target
        return tuple(table_rows(batch, target.columns, bool(target.key)))

    def write_entries(self, entries: tuple[Any, ...]) -> None:
        added = JdbcRows(*entries)
        if added.deleted is not None and self._deleted is None:
            self._deleted = [False] * len(self._rows)
        if self._deleted is not None:
            self._deleted += added.deleted or [False] * len(added.rows)
        self._rows += added.rows
        size = self._writing.execution.batch_size
        while len(self._rows) >= size:
            self._flush(size)

    def _flush(self, size: int) -> None:
        deleted = None if self._deleted is None else self._deleted[:size]
        self._send(self._rows[:size], deleted if deleted and any(deleted) else None)
        del self._rows[:size]
        if self._deleted is not None:
            del self._deleted[:size]

    def flush(self, end_of_input: bool) -> None:
        if self._rows:
            self._flush(len(self._rows))

    def close(self) -> None:
        self._session.close()

    def _transaction(self, work: Callable[[Connection], Any]) -> Any:
        retries = self._writing.execution.max_retries
        return self._session.transaction(work, retries, self._logger)


class JdbcDirectWriter(JdbcWriter):
    """Writes directly to the target: at least once, and effectively once if there is a key."""

    def _prepare(self, connection: Connection) -> None:
        if self._writing.target.key:
            self._incoming(connection).create()

    def _incoming(self, connection: Connection) -> StagedTable:
        return StagedTable(_TEMPORARY, self._writing.target, connection, lasting=False)

    def _send(self, rows: Rows, deleted: Deleted) -> None:
        target, statement = self._writing.target, self._writing.statement

        def work(connection: Connection) -> None:
            if statement is not None:
                marked = for_driver(statement, dialect_of(connection).placeholder)
                connection.exec_driver_sql(marked, rows)
            elif target.key:
                incoming = self._incoming(connection)
                incoming.load(rows, deleted)
                incoming.merge((), deletes=deleted is not None)
                incoming.clear(())
            else:
                dialect_of(connection).load(connection, target.name, target.columns, rows)

        self._transaction(work)


@dataclass(frozen=True)
class JdbcStagedBatch:
    """Rows of an epoch that are staged in the database until they are committed."""

    run_id: str
    epoch: int
    batch: int
    rows: int
    deletes: bool


class JdbcStagingWriter(JdbcWriter):
    """Writes an epoch's rows to the sink's staging table; the committer moves them to the
    target."""

    def __init__(self, writing: BatchWriting, context: WriterContext) -> None:
        super().__init__(writing, context)
        self._run_id = context.run_id
        self._epoch = 0
        self._staged: list[JdbcStagedBatch] = []

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._epoch = epoch.number

    def _send(self, rows: Rows, deleted: Deleted) -> None:
        run_id, epoch, writing = self._run_id, self._epoch, self._writing
        sink_id = writing.sink_id or ""
        name = staging_table(sink_id, writing.target.name)

        def work(connection: Connection) -> int:
            log = CommitLog(connection, sink_id)
            batch = log.new_batch(run_id, epoch, time.time_ns() // 1_000_000)
            StagedTable(name, writing.target, connection, lasting=True).load(rows, deleted, batch)
            return batch

        # a batch that was staged twice is in no checkpoint once, and swept away
        batch = self._transaction(work)
        self._staged.append(JdbcStagedBatch(run_id, epoch, batch, len(rows), deleted is not None))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        staged, self._staged = self._staged, []
        return [(item.run_id, item.epoch, item.batch, item.rows, item.deletes) for item in staged]


_GONE = frozenset({RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value})


class JdbcRows(NamedTuple):
    """Values of each row, and flags that mark the rows that are deletes; the flags are None if no
    row is a delete.
    """

    rows: list[tuple[Any, ...]]
    deleted: list[bool] | None


def table_rows(batch: Batch, columns: Sequence[str], keyed: bool) -> JdbcRows:
    """The values and delete flags of a batch's rows.

    Args:
        columns: names of fields; of records without names, the number of fields counts.
        keyed: whether changes can be told from new rows.

    Raises:
        JdbcError: a record has other fields, or is a change though there is no key.
    """
    if isinstance(batch, ColumnBatch):
        rows = _of_columns(batch, columns)
    else:
        rows = _of_rows(batch.values, columns)
    if rows.deleted is not None and not keyed:
        raise JdbcError(
            "the stream has rows of the kind UPDATE_BEFORE or DELETE, and the sink has no "
            "key by which it finds the rows to delete: set with_key(...)"
        )
    return rows


def _of_columns(batch: ColumnBatch, columns: Sequence[str]) -> JdbcRows:
    data = batch.data
    if set(columns) <= set(data.schema.names):
        data = data.select(list(columns))
    elif data.num_columns != len(columns):
        raise _misfit(data.schema.names, columns)
    rows = list(zip(*(column.to_pylist() for column in data.columns), strict=True))
    kinds = batch.row_kinds
    if kinds is None:
        return JdbcRows(rows, None)
    deleted = [kind in _GONE for kind in kinds.to_pylist()]
    return JdbcRows(rows, deleted if any(deleted) else None)


def _of_rows(records: Sequence[Any], columns: Sequence[str]) -> JdbcRows:
    own = (None, shared_names(tuple(columns)))
    if all(type(record) is Row and record._fields in own for record in records):
        rows = [tuple(record._values) for record in records]
    else:
        rows = [_values(record, columns) for record in records]
    for values, record in zip(rows, records, strict=True):
        if len(values) != len(columns):
            raise _misfit(record, columns)
    deleted = [isinstance(r, Row) and r._row_kind.value in _GONE for r in records]
    return JdbcRows(rows, deleted if any(deleted) else None)


def _values(record: Any, columns: Sequence[str]) -> tuple[Any, ...]:
    if isinstance(record, dict):
        return tuple(map(record.get, columns))
    if isinstance(record, Row) and set(columns) <= set(record._fields or ()):
        return tuple(record.get_fields_by_names(columns))
    if isinstance(record, (Row, tuple, list)):
        return tuple(record)
    if len(columns) == 1:
        return (record,)
    raise _misfit(record, columns)


def _misfit(record: Any, columns: Sequence[str]) -> JdbcError:
    return JdbcError(
        f"a record does not fit the columns {', '.join(columns)}: {record!r}; make the type "
        "of the sink and the stream's records agree"
    )
