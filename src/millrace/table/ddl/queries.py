"""Queries, INSERT, EXECUTE STATEMENT SET and EXPLAIN."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.statements import Explain, Insert, InsertSet, Query, Statement
from millrace.table.explain_detail import ExplainDetail
from millrace.table.inserts import insert_sink
from millrace.table.plan_text import explained_plan
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["explain", "insert", "insert_set", "query"]


def query(session: TableSession, statement: Query) -> TableResult:
    """A query whose rows go to the client."""
    return session.collect(session.bind_query(statement.query, statement.text))


def insert(session: TableSession, statement: Insert) -> TableResult:
    """INSERT: a job of its own."""
    return session.insert([insert_sink(session, statement)])


def insert_set(session: TableSession, statement: InsertSet) -> TableResult:
    """EXECUTE STATEMENT SET: several inserts as one job."""
    return session.insert([insert_sink(session, inner) for inner in statement.statements])


def explain(session: TableSession, statement: Explain) -> TableResult:
    """EXPLAIN of a query, an INSERT or a statement set."""
    details = [ExplainDetail[name] for name in statement.details]
    return TableResult.of_text(explained_plan(session, _nodes(session, statement), details))


def _nodes(session: TableSession, statement: Explain) -> list[RelNode]:
    explained: Statement = statement.statement
    if isinstance(explained, Query):
        return [session.bind_query(explained.query, explained.text)]
    if isinstance(explained, Insert):
        return [insert_sink(session, explained)]
    if isinstance(explained, InsertSet):
        return [insert_sink(session, inner) for inner in explained.statements]
    raise JobDefinitionError("EXPLAIN supports queries, INSERT and STATEMENT SET")
