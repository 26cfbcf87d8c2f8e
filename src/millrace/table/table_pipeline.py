"""`TablePipeline`: a query and its target table. Flink: ``TablePipeline``."""

from __future__ import annotations

from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.table.catalog.object_path import ObjectIdentifier
from millrace.table.compiled_plan import CompiledPlan
from millrace.table.explain_detail import ExplainDetail
from millrace.table.plan_text import explained_plan
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["TablePipeline"]


class TablePipeline:
    """A pipeline that writes a query's rows to a table, made by `Table.insert_into`."""

    def __init__(self, session: TableSession, sink: LogicalSink) -> None:
        self._session = session
        self.sink = sink

    def execute(self) -> TableResult:
        """Run the pipeline as a job of its own."""
        return self._session.insert([self.sink])

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The target table; None if it has no name."""
        path = self.sink.table.path
        named = len(path) == 3 and not path[-1].startswith("*anonymous_")
        return ObjectIdentifier(*path) if named else None

    def compile_plan(self) -> CompiledPlan:
        """Compile the pipeline's plan.

        Raises:
            JobDefinitionError: the pipeline uses tables or functions that exist only in this
                program.
        """
        return CompiledPlan.of(self._session, [self.sink])

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan of the job."""
        return explained_plan(self._session, [self.sink], extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan of the job."""
        print(self.explain(*extra_details))
