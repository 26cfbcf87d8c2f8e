"""`StreamTableEnvironment`: SQL beside the DataStream API, in one job."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.common.types.row import Row
from millrace.datastream.stream import DataStream
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.plan.transformation import Input
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.table.environment_settings import EnvironmentSettings
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
