"""A source of tables and queries, read in parallel parts. Flink docs: "JDBC", JdbcSource."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.source import ReaderContext, SplitEnumerator, SplitSource
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.index_range import require_at_least
from millrace.connectors.jdbc.connection_options import JdbcConnectionOptions
from millrace.connectors.jdbc.split_enumerator import JdbcEnumerator
from millrace.connectors.jdbc.split_reader import JdbcSplitReader
from millrace.connectors.jdbc.table_splits import JdbcReading, JdbcSplit

__all__ = ["JdbcSource", "JdbcSourceBuilder"]


class JdbcSource(SplitSource[Any]):
    """Reads a table or a query once, as rows in columns; made by `JdbcSource.builder`.

    Example:
        >>> options = (
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:postgresql://localhost/shop")
        ...     .build()
        ... )
        >>> source = (
        ...     JdbcSource.builder()
        ...     .set_connection_options(options)
        ...     .set_table("orders")
        ...     .set_columns("id", "cents")
        ...     .set_split_column("id", splits=16)
        ...     .build()
        ... )
        >>> source.boundedness.name
        'BOUNDED'
    """

    def __init__(self, reading: JdbcReading) -> None:
        self._reading = reading

    @staticmethod
    def builder() -> JdbcSourceBuilder:
        """A builder of a source, without settings."""
        return JdbcSourceBuilder()

    def create_enumerator(self) -> SplitEnumerator:
        return JdbcEnumerator(self._reading)

    def create_split_reader(self, split: JdbcSplit, position: Any, context: ReaderContext) -> Any:
        return JdbcSplitReader(self._reading, split, position)


class TypedJdbcSource(JdbcSource, ResultTypeQueryable):
    """A source whose rows have a declared type."""

    def get_produced_type(self) -> TypeInformation[Any]:
        assert self._reading.type_info is not None
        return self._reading.type_info


class JdbcSourceBuilder:
    """Collects the options of a `JdbcSource`; names as in Flink where it has them."""

    def __init__(self) -> None:
        self._reading = JdbcReading(JdbcConnectionOptions(""))

    def set_connection_options(self, options: JdbcConnectionOptions) -> JdbcSourceBuilder:
        """Set the database."""
        return self._with(connection=options)

    def set_table(self, table: str) -> JdbcSourceBuilder:
        """Set the table to read: its name, or ``schema.table``. The database supplies its types."""
        return self._with(table=table)

    def set_columns(self, *columns: str) -> JdbcSourceBuilder:
        """Set the columns of the table to read; by default all."""
        return self._with(columns=columns)

    def set_sql(self, sql: str) -> JdbcSourceBuilder:
        """Set a query instead of a table. It needs `set_type_information`."""
        return self._with(sql=sql)

    def set_type_information(self, type_info: TypeInformation[Any]) -> JdbcSourceBuilder:
        """Set the type of the rows: its fields are the columns, in their order.

        Raises:
            JobDefinitionError: the argument is not a row type.
        """
        if not isinstance(type_info, RowTypeInfo):
            raise JobDefinitionError(
                "a JdbcSource gives rows, such as those of Types.ROW_NAMED(names, types), not "
                f"{type_info!r}"
            )
        return self._with(type_info=type_info)

    def set_split_column(self, column: str, splits: int = 8) -> JdbcSourceBuilder:
        """Read ranges of this column in parallel: it may hold numbers, times or texts.

        Raises:
            JobDefinitionError: there is to be less than one.
        """
        require_at_least(1, splits=splits)
        return self._with(split_column=column, splits=splits)

    def set_predicates(self, *predicates: str) -> JdbcSourceBuilder:
        """Set conditions in SQL, one for each part, instead of ranges. Together they select the
        rows to read."""
        return self._with(conditions=predicates)

    def set_parameters(self, *parameters: Sequence[Any]) -> JdbcSourceBuilder:
        """Set values for the question marks of the query, one list for each part. Flink:
        ``JdbcParameterValuesProvider``."""
        return self._with(parameters=tuple(map(tuple, parameters)))

    def set_consistent_snapshot(self) -> JdbcSourceBuilder:
        """Read all parts as of one moment, on PostgreSQL, by an exported snapshot. The snapshot
        ends with the run: a resumed job reads its remaining parts from a later one."""
        return self._with(snapshot=True)

    def _with(self, **options: Any) -> JdbcSourceBuilder:
        self._reading = replace(self._reading, **options)
        return self

    def build(self) -> JdbcSource:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: something is missing or does not fit together.
        """
        reading = self._reading
        is_query = reading.sql is not None
        for fits, problem in (
            (reading.connection.url != "", "needs set_connection_options()"),
            ((reading.table is None) == is_query, "needs set_table() or set_sql()"),
            (
                not is_query or reading.type_info is not None,
                "of a query needs set_type_information()",
            ),
            (not is_query or not reading.columns, "of a query has the columns of the query"),
            (is_query or not reading.parameters, "takes set_parameters() with set_sql()"),
            (
                sum(map(bool, (reading.split_column, reading.conditions, reading.parameters))) <= 1,
                "is cut by set_split_column(), set_predicates() or set_parameters(), not by two",
            ),
            (
                not reading.snapshot or reading.connection.is_postgresql,
                "has a consistent snapshot on PostgreSQL only",
            ),
        ):
            if not fits:
                raise JobDefinitionError(f"a JdbcSource {problem}")
        return (JdbcSource if reading.type_info is None else TypedJdbcSource)(reading)
