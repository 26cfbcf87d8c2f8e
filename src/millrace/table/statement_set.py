"""`StatementSet`: inserts that run as one job. Flink: interface ``StatementSet``."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.sql.parser import parse_statement
from millrace.sql.statements import Insert
from millrace.table.compiled_plan import CompiledPlan
from millrace.table.explain_detail import ExplainDetail
from millrace.table.inserts import insert_sink, sink_to
from millrace.table.plan_text import explained_plan
from millrace.table.table import Table
from millrace.table.table_descriptor import TableDescriptor
from millrace.table.table_pipeline import TablePipeline
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["StatementSet"]


class StatementSet:
    """Collects inserts; what they have in common is computed once. Made by
    `TableEnvironment.create_statement_set`."""

    def __init__(self, session: TableSession) -> None:
        self._session = session
        self._sinks: list[LogicalSink] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT.

        Raises:
            JobDefinitionError: it is another statement, or wrong.
        """
        statement = parse_statement(stmt)
        if not isinstance(statement, Insert):
            raise JobDefinitionError("add_insert_sql() takes an INSERT")
        self._sinks.append(insert_sink(self._session, statement))
        return self

    def add_insert(
        self,
        target_path_or_descriptor: str | TableDescriptor,
        table: Table,
        overwrite: bool = False,
    ) -> StatementSet:
        """Add writing a table's rows into another one."""
        sink = sink_to(self._session, target_path_or_descriptor, table.node, overwrite)
        self._sinks.append(sink)
        return self

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add what `Table.insert_into` has made."""
        self._sinks.append(table_pipeline.sink)
        return self

    def attach_as_datastream(self) -> None:
        """Let the environment's next job run the inserts, and forget them.

        Raises:
            JobDefinitionError: there are none, or there is no environment of streams.
        """
        if not self._sinks:
            raise JobDefinitionError("the statement set has no INSERT")
        sinks, self._sinks = self._sinks, []
        self._session.attach(sinks)

    def compile_plan(self) -> CompiledPlan:
        """The plan of the inserts, to be kept.

        Raises:
            JobDefinitionError: there are none, or they read or call what is in this program only.
        """
        return CompiledPlan.of(self._session, self._sinks)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print how the job would run."""
        print(self.explain(*extra_details))

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How the job would run."""
        return explained_plan(self._session, self._sinks, extra_details)

    def execute(self) -> TableResult:
        """Run the inserts as one job, and forget them.

        Raises:
            JobDefinitionError: there are none.
        """
        if not self._sinks:
            raise JobDefinitionError("the statement set has no INSERT")
        sinks, self._sinks = self._sinks, []
        return self._session.insert(sinks)
