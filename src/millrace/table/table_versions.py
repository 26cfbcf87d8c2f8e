"""`TableVersions`: tables with several versions of a row, for joins with the version valid at a
time."""

from __future__ import annotations

from millrace.planner.relational.rel_node import RelNode
from millrace.table.expression import Expression
from millrace.table.functions.temporal_table_function import TemporalTableFunction

__all__ = ["TableVersions"]


class TableVersions:
    """A table whose rows are versions: the last row of each key is valid."""

    node: RelNode

    def create_temporal_table_function(
        self, time_attribute: Expression | str, primary_key: Expression | str
    ) -> TemporalTableFunction:
        """This table as a history: a function that returns the last row of each key at a time.

        It is called in `join_lateral` with the time attribute of the other table, or, registered,
        as ``LATERAL TABLE (name(o.ts))``; the condition has an equality of the key. In event time
        a row holds from its time on, and left rows wait for the watermark; in processing time a
        left row gets the last one that has come.

        Args:
            time_attribute: the column with the time from which a row holds.
            primary_key: the column whose equal values make rows versions of one thing.

        Raises:
            JobDefinitionError: one of them is no column, or the first no time attribute.

        Example:
            >>> from millrace.table import EnvironmentSettings, TableEnvironment
            >>> from millrace.table.expressions import col
            >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
            >>> for name, columns in [("o", "o_id INT, o_item STRING"), ("p", "item STRING")]:
            ...     _ = t_env.execute_sql(
            ...         f"CREATE TABLE {name} ({columns}, {name}_ts TIMESTAMP(3), "
            ...         f"WATERMARK FOR {name}_ts AS {name}_ts) WITH ('connector' = 'datagen')"
            ...     )
            >>> prices = t_env.from_path("p").create_temporal_table_function("p_ts", "item")
            >>> priced = t_env.from_path("o").join_lateral(
            ...     prices(col("o_ts")), col("o_item") == col("item"))
            >>> priced.get_schema().get_field_names()
            ['o_id', 'o_item', 'o_ts', 'item', 'p_ts']
        """
        return TemporalTableFunction(self.node, time_attribute, primary_key)
