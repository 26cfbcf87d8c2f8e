"""`StreamTableEnvironment`: SQL beside the DataStream API, in one job."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.row import Row
from millrace.datastream.stream import DataStream
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.plan.transformation import Input
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.table.changelog_mode import ChangelogMode
from millrace.table.data_stream_tables import INSERTS, schema_of_fields, stream_rows
from millrace.table.environment_settings import EnvironmentSettings
from millrace.table.schema import Schema
from millrace.table.table import Table
from millrace.table.table_environment import TableEnvironment
from millrace.table.table_session import TableSession

__all__ = ["StreamTableEnvironment"]


class StreamTableEnvironment(TableEnvironment):
    """A `TableEnvironment` over an environment of streams: tables become streams of its jobs.

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
        """An environment whose jobs are those of an environment of streams."""
        settings = environment_settings or EnvironmentSettings.in_streaming_mode()
        return StreamTableEnvironment(TableSession(settings, stream_execution_environment))

    def from_data_stream(self, data_stream: DataStream[Any], *fields_or_schema: Any) -> Table:
        """The records of a stream as rows that are inserted.

        Args:
            fields_or_schema: a `Schema`: its columns by name, computed ones, the records' event
                time as ``column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")``, and a watermark, with
                ``SOURCE_WATERMARK()`` that of the stream. Or columns as expressions: names by
                position, ``col("t").rowtime``, ``col("p").proctime``. Nothing: the columns of the
                type that the stream was declared with; a type without fields is ``f0``.

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
        rows = stream_rows(self._session, data_stream, schema, INSERTS, only_declared)
        return Table(self._session, rows)

    def from_changelog_stream(
        self,
        data_stream: DataStream[Row],
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """The rows of a stream as changes of a table, each with its kind (`Row.of_kind`).

        Args:
            schema: as of `from_data_stream`.
            changelog_mode: which kinds come: all of them if it is not given. Updates come as a row
                before and a row after.

        Raises:
            JobDefinitionError: the columns' types are not known, or the schema is wrong.
        """
        mode = changelog_mode or ChangelogMode.all()
        if mode == ChangelogMode.upsert():
            raise JobDefinitionError(
                "a stream of upserts cannot become a table here: give the rows before updates, too"
            )
        rows = stream_rows(self._session, data_stream, schema, mode.kinds)
        return Table(self._session, rows)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Table | DataStream[Any], *fields_or_schema: Any
    ) -> None:
        """Give a query or a stream a name, as long as the session lives.

        Args:
            fields_or_schema: of a stream, as of `from_data_stream`.

        Raises:
            CatalogError: the name is taken.
        """
        table = table_or_data_stream
        if isinstance(table, DataStream):
            table = self.from_data_stream(table, *fields_or_schema)
        super().create_temporary_view(view_path, table)

    def to_data_stream(self, table: Table) -> DataStream[Row]:
        """The rows of a query as a stream. It is run with the environment's next job.

        Raises:
            JobDefinitionError: the query updates or deletes rows.
        """
        modes = ChangelogModes([table.node], self._session.streaming)
        if not modes.insert_only(table.node):
            raise JobDefinitionError(
                "the query updates rows, which a stream of inserts cannot say; take "
                "to_changelog_stream(), whose rows have their kinds"
            )
        return self.to_changelog_stream(table)

    def to_changelog_stream(self, table: Table) -> DataStream[Row]:
        """The rows of a query as a stream, each with its kind (`Row.get_row_kind`). It is run with
        the environment's next job."""
        [made] = self._session.transformations([table.node])
        return DataStream(self._session.env, [Input(made)])
