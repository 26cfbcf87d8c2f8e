"""`Table`: a query, not run yet. Flink: interface ``Table``."""

from __future__ import annotations

from millrace.common.types.logical.logical_type import RowType
from millrace.planner.relational.rel_node import RelNode
from millrace.table.explain_detail import ExplainDetail
from millrace.table.inserts import sink_of
from millrace.table.plan_text import explained_plan
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["Table"]


class Table:
    """A query or a table of a catalog, made by a `TableEnvironment`.

    Example:
        >>> from millrace.table import EnvironmentSettings, TableEnvironment
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> t_env.from_elements([(1, "a")], ["id", "name"]).get_schema()
        ROW<`id` BIGINT, `name` STRING> NOT NULL
    """

    def __init__(self, session: TableSession, node: RelNode) -> None:
        self._session = session
        self.node = node

    def get_schema(self) -> RowType:
        """Names and types of the columns."""
        return self.node.row_type

    get_resolved_schema = get_schema

    def print_schema(self) -> None:
        """Print names and types of the columns."""
        print("(\n  " + ",\n  ".join(map(str, self.node.row_type.fields)) + "\n)")

    def execute(self) -> TableResult:
        """Run the query; its rows come as they are made."""
        return self._session.collect(self.node)

    def execute_insert(self, table_path: str, overwrite: bool = False) -> TableResult:
        """Write the rows into a table, as a job of its own.

        Raises:
            JobDefinitionError: there is no such table, or its columns are of other types.
        """
        path = tuple(part.strip("` ") for part in table_path.split("."))
        return self._session.insert([sink_of(self._session, path, self.node, overwrite)])

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How the query would run: its tree, and the operators that it becomes."""
        return explained_plan(self._session, [self.node], extra_details)

    def to_pandas(self) -> object:
        """Run the query and wait; what it leaves as a DataFrame."""
        return self.execute().to_pandas()
