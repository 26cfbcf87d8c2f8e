"""The queries of a JDBC source: columns, order and starting position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.connectors.jdbc.column_types import chosen, columns_of, is_ordered, reflected
from millrace.connectors.jdbc.dialect import dialect_of
from millrace.connectors.jdbc.placeholders import named
from millrace.connectors.jdbc.table_splits import JdbcReading, JdbcSplit
from millrace.formats.arrow_types import arrow_schema

if TYPE_CHECKING:
    import pyarrow
    from sqlalchemy import Connection

__all__ = ["Selection"]


class Selection:
    """The columns and rows that a source selects, as SQL of its database.

    Args:
        connection: connection for the query of a table's types.

    Raises:
        JdbcError: the table is not there, or has no such column.
    """

    def __init__(self, connection: Connection, reading: JdbcReading) -> None:
        dialect = dialect_of(connection)

        def quote(name: str) -> str:
            return dialect.unescaped(dialect.quote(name))

        info, column = reading.type_info, reading.split_column
        names = reading.columns if info is None else tuple(info.get_field_names())
        self._results: list[Any] = []
        """Columns with types of SQLAlchemy's, which make Python's values of what drivers give."""
        self.split_column = None if column is None else quote(column)
        if reading.table is not None:
            table = reflected(connection, reading.table)
            names = names or tuple(table.columns.keys())
            self._results = chosen(table, reading.table, [*names, *([column] if column else [])])
            self._results = self._results[: len(names)]
            self.base = dialect.unescaped(dialect.table(reading.table))
            self._list = ", ".join(map(quote, names))
            unique = [key.name for key in table.primary_key.columns]
            order = [quote(name) for name in unique] or [
                quote(result.name) for result in self._results if is_ordered(result.type)
            ]
        else:
            self.base = f"({reading.sql}) AS query"
            self._list = "*"
            order = [str(number) for number in range(1, len(names) + 1)]
        self._order = [*([self.split_column] if self.split_column else []), *order]
        self.schema: pyarrow.Schema = (
            columns_of(self._results, connection.dialect.name != "sqlite")
            if info is None
            else arrow_schema(info)
        )

    def statement(self, split: JdbcSplit, after: Any) -> tuple[Any, dict[str, Any]]:
        """Query and its parameters for a split.

        Args:
            after: value of the split column at which reading continues; None for the start.
        """
        from sqlalchemy import text

        parameters: dict[str, Any] = {f"p{i}": value for i, value in enumerate(split.parameters)}
        conditions = [f"({named(split.condition)})"] if split.condition is not None else []
        low = split.lower if after is None else after
        for name, sign, bound in (
            ("low", ">=", low),
            ("high", "<", split.upper),
            ("above", ">", split.above),
            ("until", "<=", split.until),
        ):
            if bound is not None:
                conditions.append(f"{self.split_column} {sign} :{name}")
                parameters[name] = bound
        if split.is_null:
            conditions.append(f"{self.split_column} IS NULL")
        elif self.split_column is not None and not conditions:
            conditions.append(f"{self.split_column} IS NOT NULL")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        more = f", {self.split_column} AS millrace_split" if self.split_column else ""
        order = f" ORDER BY {', '.join(self._order)}" if self._order else ""
        base = named(self.base)
        query = text(f"SELECT {named(self._list)}{more} FROM {base}{where}{order}")
        return (query.columns(*self._results) if self._results else query), parameters
