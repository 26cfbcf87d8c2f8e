"""`StreamTableEnvironment`: SQL together with the DataStream API, in one job."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.types.composite_types import TupleTypeInfo
from millrace.common.types.row import INSERT_ONLY, Row, RowKind, named_row
from millrace.datastream.stream import DataStream
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.table.changelog_mode import ChangelogMode
from millrace.table.data_stream_tables import schema_of_fields, stream_rows
from millrace.table.environment_settings import EnvironmentSettings
from millrace.table.query_streams import query_stream
from millrace.table.schema import Schema
from millrace.table.table import Table
from millrace.table.table_environment import TableEnvironment
from millrace.table.table_session import TableSession

__all__ = ["StreamTableEnvironment"]


class StreamTableEnvironment(TableEnvironment):
    """A `TableEnvironment` on a stream execution environment: tables become streams of its jobs.

    Example:
        >>> from millrace.testing import run_local
        >>> with run_local():
        ...     env = StreamExecutionEnvironment.get_execution_environment()
        ...     t_env = StreamTableEnvironment.create(env)
        ...     rows = t_env.to_data_stream(t_env.sql_query("SELECT 6 * 7 AS n"))
        ...     rows.map(lambda row: row.n).execute_and_collect(limit=1)
        [42]
    """

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """A table environment for the jobs of a stream execution environment.

        Args:
            environment_settings: their mode is that of the jobs. Without one it is the mode of the
                environment of streams, `StreamExecutionEnvironment.set_runtime_mode`.

        Raises:
            ConfigurationError: the mode is AUTOMATIC.
        """
        settings = environment_settings or EnvironmentSettings.new_instance().build()
        return StreamTableEnvironment(TableSession(settings, stream_execution_environment))

    def from_data_stream(self, data_stream: DataStream[Any], *fields_or_schema: Any) -> Table:
        """A table of a stream's records; each record is an inserted row.

        Args:
            fields_or_schema: a `Schema` with columns by name, computed columns and a watermark;
                ``column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")`` is the records' event time,
                and ``SOURCE_WATERMARK()`` the watermark of the stream. Or expressions: columns by
                name or position, ``col("t").rowtime``, ``col("p").proctime``. If omitted, the
                columns of the stream's declared type; a type without fields is one column ``f0``.

        Raises:
            JobDefinitionError: the columns' types are not known, or the schema is wrong.

        Example:
            >>> from millrace.common.typeinfo import Types
            >>> env = StreamExecutionEnvironment.get_execution_environment()
            >>> stream = env.from_collection(
            ...     [(1, "a")], Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
            ... )
            >>> table = StreamTableEnvironment.create(env).from_data_stream(stream)
            >>> table.get_schema().get_field_names()
            ['id', 'name']
        """
        given = fields_or_schema
        if len(given) == 1 and (given[0] is None or isinstance(given[0], Schema)):
            schema, only_declared = given[0], False
        else:
            schema = schema_of_fields(data_stream, given) if given else None
            only_declared = bool(given)
        rows = stream_rows(self._session, data_stream, schema, INSERT_ONLY, only_declared)
        return Table(self._session, rows)

    def from_changelog_stream(
        self,
        data_stream: DataStream[Row],
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """A table of a stream's rows as changes, each with its kind (`Row.of_kind`).

        Args:
            schema: see `from_data_stream`.
            changelog_mode: row kinds of the stream; None for all kinds. An update must be two rows,
                before and after.

        Raises:
            JobDefinitionError: the columns' types are not known, or the schema is wrong.
        """
        mode = changelog_mode or ChangelogMode.all()
        if mode == ChangelogMode.upsert():
            raise JobDefinitionError(
                "a stream of upserts cannot become a table: include the rows before updates "
                "(UPDATE_BEFORE)"
            )
        rows = stream_rows(self._session, data_stream, schema, mode.kinds)
        return Table(self._session, rows)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Table | DataStream[Any], *fields_or_schema: Any
    ) -> None:
        """Register a query or a stream under a name, for as long as the session exists.

        Args:
            fields_or_schema: columns of a stream, see `from_data_stream`.

        Raises:
            CatalogError: the name is taken.
        """
        table = table_or_data_stream
        if isinstance(table, DataStream):
            table = self.from_data_stream(table, *fields_or_schema)
        super().create_temporary_view(view_path, table)

    def to_data_stream(self, table: Table) -> DataStream[Row]:
        """The rows of a query as a stream, which runs with the environment's next job.

        If the query has a rowtime attribute, its values are the event times of the stream's
        records, and remain in the rows. The stream has the watermarks of the query.

        Raises:
            JobDefinitionError: the query updates or deletes rows, or has several rowtime
                attributes.
        """
        return self.to_changelog_stream(table, changelog_mode=ChangelogMode.insert_only())

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream[Row]:
        """The rows of a query as a stream, each with its kind (`Row.get_row_kind`). It runs with
        the environment's next job.

        Args:
            target_schema: columns of the stream's rows, and the types to which they are cast. They
                are columns of the query by name if the query has all of them, else by position.
                Computed columns and virtual metadata columns are left out. The metadata column
                ``column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")`` becomes the event time of the
                records and is no part of the rows. Without it, a rowtime attribute of the query
                is the event time if the schema neither omits nor casts it.
            changelog_mode: row kinds of the stream; None for all kinds. `ChangelogMode.upsert`
                leaves out the rows before updates.

        Raises:
            JobDefinitionError: a column is missing, the query gives other kinds, or it has several
                rowtime attributes.
        """
        mode = changelog_mode or ChangelogMode.all()
        if mode == ChangelogMode.insert_only():
            self._require_inserts(table)
        rows = query_stream(table, target_schema)
        if mode != ChangelogMode.upsert():
            return rows
        latest = rows.filter(_is_no_former_row)
        latest._transformation.row_type = rows._transformation.row_type
        return latest

    def to_append_stream(self, table: Table, type_info: TypeInformation[Any]) -> DataStream[Any]:
        """The rows of an insert-only query as records of a type (rows or tuples). It is an older
        form of `to_data_stream`.

        Raises:
            JobDefinitionError: the query updates or deletes rows.
        """
        return self.to_data_stream(table).map(_made_of(type_info), type_info)

    def to_retract_stream(self, table: Table, type_info: TypeInformation[Any]) -> DataStream[Any]:
        """The changes of a query as pairs: True with an added row, False with a retracted one.
        It is an older form of `to_changelog_stream`."""
        pairs = Types.TUPLE([Types.BOOLEAN(), type_info])
        return self.to_changelog_stream(table).map(partial(_signed, _made_of(type_info)), pairs)

    def _require_inserts(self, table: Table) -> None:
        # a window is an aggregate like any other before the rules have seen it
        [node] = self._session.optimized([table.node])
        modes = ChangelogModes([node], self._session.streaming)
        if not modes.insert_only(node):
            raise JobDefinitionError(
                "the query updates rows, but a stream of inserts cannot represent updates; "
                "use to_changelog_stream(), whose rows have row kinds"
            )


def _is_no_former_row(row: Row) -> bool:
    return row.get_row_kind() is not RowKind.UPDATE_BEFORE


def _made_of(type_info: TypeInformation[Any]) -> Callable[[Row], Any]:
    """Converter from rows to values of a record type: to tuples, or to rows with the type's
    field names."""
    if isinstance(type_info, TupleTypeInfo):
        return tuple
    names = getattr(type_info, "get_field_names", lambda: None)()
    return partial(named_row, None if names is None else tuple(names))


def _signed(made: Callable[[Row], Any], row: Row) -> tuple[bool, Any]:
    comes = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
    return comes, made(row)
