"""A sink to tables of databases. Flink docs: "JDBC", JdbcSink; FLIP-239."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.sink import (
    CommitMode,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    SupportsOrphanSweep,
    WriterContext,
)
from millrace.common.types.batch import BatchForm
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.jdbc.committer import JdbcCommitter, sweep
from millrace.connectors.jdbc.connection_options import JdbcConnectionOptions
from millrace.connectors.jdbc.execution_options import JdbcExecutionOptions
from millrace.connectors.jdbc.target_table import TargetTable
from millrace.connectors.jdbc.writer import BatchWriting, JdbcDirectWriter, JdbcStagingWriter

__all__ = ["JdbcSink", "JdbcSinkBuilder"]


class JdbcSink(Sink[Any], SupportsOrphanSweep):
    """Writes rows to a table; made by `JdbcSink.sink` or `JdbcSink.builder`.

    Example:
        >>> from millrace.common import Types
        >>> options = (
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:postgresql://localhost/shop")
        ...     .build()
        ... )
        >>> total = Types.ROW_NAMED(["customer", "cents"], [Types.STRING(), Types.LONG()])
        >>> sink = (
        ...     JdbcSink.builder()
        ...     .with_table("totals")
        ...     .with_type_info(total)
        ...     .with_key("customer")
        ...     .build_exactly_once(options, sink_id="totals-of-the-shop")
        ... )
        >>> sink.commit_mode.name
        'IN_BACKGROUND'
    """

    takes = BatchForm.EITHER

    def __init__(self, writing: BatchWriting) -> None:
        self._writing = writing

    @staticmethod
    def sink(
        sql: str,
        type_info: TypeInformation[Any],
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink that executes a statement for every record, at least once; as in PyFlink.

        Args:
            sql: statement with a ``?`` for every field, as
                ``INSERT INTO books (id, title) VALUES (?, ?)``.
            type_info: a row type.

        Raises:
            JobDefinitionError: an argument is of another kind.
        """
        builder = JdbcSink.builder().with_query_statement(sql).with_type_info(type_info)
        if jdbc_execution_options is not None:
            builder.with_execution_options(jdbc_execution_options)
        return builder.build_at_least_once(jdbc_connection_options)

    @staticmethod
    def builder() -> JdbcSinkBuilder:
        """A builder of a sink, without settings."""
        return JdbcSinkBuilder()

    @property
    def commit_mode(self) -> CommitMode:
        return CommitMode.IN_BACKGROUND

    @property
    def exclusive_id(self) -> str | None:
        sink_id = self._writing.sink_id
        return None if sink_id is None else f"JDBC sink id '{sink_id}'"

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        kind = JdbcDirectWriter if self._writing.sink_id is None else JdbcStagingWriter
        return kind(self._writing, context)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        return None if self._writing.sink_id is None else JdbcCommitter(self._writing, context)

    def sweep(self, in_use: Collection[str], run_ids: Collection[str], older_than: int) -> None:
        if self._writing.sink_id is not None:
            sweep(self._writing, run_ids, older_than)


class JdbcSinkBuilder:
    """Collects the options of a `JdbcSink`."""

    def __init__(self) -> None:
        self._table: str | None = None
        self._statement: str | None = None
        self._columns: tuple[str, ...] = ()
        self._key: tuple[str, ...] = ()
        self._execution = JdbcExecutionOptions.defaults()

    def with_table(self, table: str) -> JdbcSinkBuilder:
        """Set the table to write to: its name, or ``schema.table``. It must exist."""
        self._table = _text("a table", table)
        return self

    def with_query_statement(self, query: str) -> JdbcSinkBuilder:
        """Set a statement with a ``?`` for every field, executed at least once, instead of a
        table."""
        self._statement = _text("a statement", query)
        return self

    def with_type_info(self, type_info: TypeInformation[Any]) -> JdbcSinkBuilder:
        """Set the type of the records: a row type, whose field names are the columns.

        Raises:
            JobDefinitionError: the argument is not a row type.
        """
        if not isinstance(type_info, RowTypeInfo):
            raise JobDefinitionError(
                "a JdbcSink takes rows, such as those of Types.ROW_NAMED(names, types), not "
                f"{type_info!r}"
            )
        self._columns = tuple(type_info.get_field_names())
        return self

    def with_key(self, *columns: str) -> JdbcSinkBuilder:
        """Set the columns of the table's primary key, or of a unique index: a record replaces
        the row of its key, and records of the kinds UPDATE_BEFORE and DELETE delete it."""
        self._key = tuple(_text("a column", column) for column in columns)
        return self

    def with_execution_options(self, execution_options: JdbcExecutionOptions) -> JdbcSinkBuilder:
        """Set batch size and retries.

        Raises:
            JobDefinitionError: they are no `JdbcExecutionOptions`.
        """
        if not isinstance(execution_options, JdbcExecutionOptions):
            raise JobDefinitionError(
                f"execution options are JdbcExecutionOptions, not {execution_options!r}"
            )
        self._execution = execution_options
        return self

    def build_at_least_once(self, connection_options: JdbcConnectionOptions) -> JdbcSink:
        """A sink that writes directly to the table. With a key, rows that are repeated after a
        failure are in the table once.

        Raises:
            JobDefinitionError: something is missing or does not fit together.
        """
        if (self._table is None) == (self._statement is None):
            raise JobDefinitionError("a JdbcSink needs with_table() or with_query_statement()")
        if self._statement is not None and self._key:
            raise JobDefinitionError(
                "with_key() is for with_table(): a statement itself defines what happens to "
                "an existing row (ON CONFLICT, ON DUPLICATE KEY UPDATE)"
            )
        return JdbcSink(self._writing(connection_options))

    def build_exactly_once(
        self, connection_options: JdbcConnectionOptions, sink_id: str | None = None
    ) -> JdbcSink:
        """A sink whose records reach the table with their checkpoint, each once.

        Args:
            sink_id: id of the sink in the database. No other sink may have it, and it must stay
                the same when the job is resumed. By default the table's name.

        Raises:
            JobDefinitionError: something is missing or does not fit together.
        """
        if self._table is None:
            raise JobDefinitionError(
                "an exactly-once JdbcSink needs with_table(): its rows wait in a table of the same "
                "columns until their checkpoint is complete"
            )
        checked_id = _text("a sink id", self._table if sink_id is None else sink_id)
        return JdbcSink(replace(self._writing(connection_options), sink_id=checked_id))

    def _writing(self, connection: JdbcConnectionOptions) -> BatchWriting:
        if not isinstance(connection, JdbcConnectionOptions):
            raise JobDefinitionError(
                f"connection options are JdbcConnectionOptions, not {connection!r}"
            )
        if not self._columns:
            raise JobDefinitionError("a JdbcSink needs with_type_info(), a row type with names")
        unknown = [name for name in self._key if name not in self._columns]
        if unknown:
            raise JobDefinitionError(
                f"the key has {', '.join(unknown)}; the row type has {', '.join(self._columns)}"
            )
        target = TargetTable(self._table or "", self._columns, self._key)
        return BatchWriting(connection, self._execution, target, self._statement)


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise JobDefinitionError(f"{what} is a text, not {value!r}")
    return value
