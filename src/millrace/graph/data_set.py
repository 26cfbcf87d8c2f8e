"""`DataSet`: rows that a graph consists of, or that a method or algorithm returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from millrace.graph.column_type import ColumnType, column_type_of_arrow

if TYPE_CHECKING:
    import pyarrow

__all__ = ["DataSet"]

T = TypeVar("T")


class DataSet(Generic[T]):
    """Rows that Spark computes when they are asked for: a lazy DataFrame, and the class that the
    rows have in Python. Gelly: ``DataSet``.

    Args:
        frame: a `pyspark.sql.DataFrame`.
        row: class of a row, made from the values of its columns; ``tuple`` by default. None if the
            rows are the values of the only column.
        types: types of the columns; None if they follow from those of the DataFrame.
    """

    def __init__(
        self,
        frame: Any,
        row: Callable[..., T] | None = None,
        types: tuple[ColumnType, ...] | None = None,
    ) -> None:
        self._frame = frame
        self._row = row
        self._types = types

    @property
    def types(self) -> tuple[ColumnType, ...]:
        """Types of the columns."""
        if self._types is None:
            from millrace.spark.graphs.frames import arrow_schema_of

            kinds = arrow_schema_of(self._frame).types
            self._types = tuple(column_type_of_arrow(kind) for kind in kinds)
        return self._types

    @property
    def row(self) -> Callable[..., T] | None:
        """Class of the rows; None if the rows are plain values of the only column."""
        return self._row

    def collect(self) -> list[T]:
        """All rows, in no particular order.

        Raises:
            UserFunctionError: a function of the program failed; the message has its traceback.
            JobExecutionError: Spark cannot compute the rows.
        """
        table = self.to_arrow()
        columns = [
            kind.decode(column.combine_chunks())
            for kind, column in zip(self.types, table.columns, strict=True)
        ]
        if self._row is None:
            return columns[0]
        if self._row is tuple:
            return list(zip(*columns, strict=True))  # type: ignore[arg-type]
        return list(map(self._row, *columns))

    def __iter__(self) -> Iterator[T]:
        return iter(self.collect())

    def persist(self) -> Self:
        """Let Spark keep the rows, from their first use on, in memory or on disk. Returns the
        rows themselves."""
        self._frame.persist()
        return self

    def unpersist(self) -> Self:
        """Let Spark drop the kept rows. Returns the rows themselves. The result of a library
        algorithm is kept until this call."""
        from millrace.spark.graphs.frames import free

        free(self._frame)
        return self

    def count(self) -> int:
        """Number of rows."""
        from millrace.spark.graphs.frames import counted

        return counted(self._frame)

    def first(self, n: int) -> DataSet[T]:
        """At most ``n`` rows, whichever Spark computes first."""
        return DataSet(self._frame.limit(n), self._row, self._types)

    def to_dataframe(self) -> Any:
        """The rows as a Spark DataFrame, not yet computed. Values without a type are pickled
        bytes in it."""
        return self._frame

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table."""
        from millrace.spark.graphs.frames import collected

        return collected(self._frame)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame; values have the classes that `collect` gives them where
        they are not numbers or text.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas  # type: ignore[import-untyped]

        table = self.to_arrow()
        columns: dict[str, Any] = {}
        for kind, name, column in zip(self.types, table.column_names, table.columns, strict=True):
            plain = not kind.is_pickled and not _is_nested(column.type)
            columns[name] = column.to_pandas() if plain else kind.decode(column.combine_chunks())
        return pandas.DataFrame(columns)

    def to_table(self, t_env: Any) -> Any:
        """The rows as a table of a `TableEnvironment`; Spark hands its partitions to the tasks of
        the query."""
        return t_env.from_spark(self._frame)

    def print(self) -> None:
        """Print each row in a line."""
        for row in self.collect():
            print(row)

    def __repr__(self) -> str:
        columns = ", ".join(
            f"{name}: {kind}" for name, kind in zip(self._frame.columns, self.types, strict=True)
        )
        return f"DataSet({columns})"


def _is_nested(kind: pyarrow.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_nested(kind))
