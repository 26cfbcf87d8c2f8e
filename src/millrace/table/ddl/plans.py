"""COMPILE PLAN, COMPILE AND EXECUTE PLAN, and EXECUTE PLAN."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.errors import JobDefinitionError
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.sql.statements import CompilePlan, ExecutePlan, Insert, InsertSet, Statement
from millrace.table.compiled_plan import CompiledPlan, compiled_into
from millrace.table.inserts import insert_sink
from millrace.table.plan_reference import FilePlanReference
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["compile_plan", "execute_plan", "sinks_of"]


def compile_plan(session: TableSession, statement: CompilePlan) -> TableResult:
    """COMPILE PLAN: writes the plan of inserts to a file. COMPILE AND EXECUTE PLAN also runs it;
    if the file exists already, the plan in the file."""
    kept = statement.if_not_exists or statement.execute
    sinks = sinks_of(session, statement.statement)
    plan = compiled_into(session, sinks, statement.file, kept)
    return plan.execute() if statement.execute else TableResult.ok()


def execute_plan(session: TableSession, statement: ExecutePlan) -> TableResult:
    """Run the plan of a file."""
    return CompiledPlan.load(session, FilePlanReference(statement.file)).execute()


def sinks_of(session: TableSession, statement: Statement) -> Sequence[LogicalSink]:
    """The inserts of a statement.

    Raises:
        JobDefinitionError: the statement has no inserts.
    """
    if isinstance(statement, Insert):
        return [insert_sink(session, statement)]
    if isinstance(statement, InsertSet):
        return [insert_sink(session, insert) for insert in statement.statements]
    raise JobDefinitionError("only INSERT and STATEMENT SET can be compiled to a plan")
