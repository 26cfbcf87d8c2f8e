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
    """Inserts that run as one job, in which common parts are computed once. Made by
    `TableEnvironment.create_statement_set`."""

    def __init__(self, session: TableSession) -> None:
        self._session = session
        self._sinks: list[LogicalSink] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT.

        Raises:
            JobDefinitionError: the statement is not an INSERT, or is wrong.
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
        """Add an insert of a table's rows into another table."""
        sink = sink_to(self._session, target_path_or_descriptor, table.node, overwrite)
        self._sinks.append(sink)
        return self

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add a pipeline that `Table.insert_into` made."""
        self._sinks.append(table_pipeline.sink)
        return self

    def attach_as_datastream(self) -> None:
        """Add the inserts to the environment's next job, and clear the set.

        Raises:
            JobDefinitionError: the set is empty, or the table environment has no stream execution
                environment.
        """
        if not self._sinks:
            raise JobDefinitionError("the statement set has no INSERT")
        sinks, self._sinks = self._sinks, []
        self._session.attach(sinks)

    def compile_plan(self) -> CompiledPlan:
        """Compile the plan of the inserts.

        Raises:
            JobDefinitionError: the set is empty, or uses tables or functions that exist only in
                this program.
        """
        return CompiledPlan.of(self._session, self._sinks)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan of the job."""
        print(self.explain(*extra_details))

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan of the job."""
        return explained_plan(self._session, self._sinks, extra_details)

    def execute(self) -> TableResult:
        """Run the inserts as one job, and clear the set.

        Raises:
            JobDefinitionError: the set is empty.
        """
        if not self._sinks:
            raise JobDefinitionError("the statement set has no INSERT")
        sinks, self._sinks = self._sinks, []
        return self._session.insert(sinks)
