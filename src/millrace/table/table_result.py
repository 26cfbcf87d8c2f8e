"""`TableResult`: the result of a statement: rows as they arrive, or its success.

A value of FLOAT becomes the Python float with the same text: 1.23, not 1.2300000190734863. Flink's
results reach Python like this, too, because they travel as text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from millrace.common.job_client import JobClient
from millrace.common.types.batch import RowBatch
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType, VarCharType
from millrace.common.types.row import Row, RowKind, named_row
from millrace.table.catalog.resolved_schema import ResolvedSchema
from millrace.table.final_rows import final_rows
from millrace.table.frames import pandas_of, polars_of
from millrace.table.html_table import MOST_ROWS, html_rows, html_table
from millrace.table.materialized_rows import MaterializedRows
from millrace.table.result_kind import ResultKind
from millrace.table.table_schema import TableSchema
from millrace.table.tableau import MAX_WIDTH, column_width, tableau
from millrace.table.values import cells
from millrace.table_runtime.collect import collected_batch
from millrace.table_runtime.columns import ColumnConversion
from millrace.table_runtime.row_text import python_rows

if TYPE_CHECKING:
    import pyarrow

    from millrace.datastream import collected
    from millrace.engine.embedded_job_client import EmbeddedJobClient


__all__ = [
    "CloseableIterator",
    "JobClient",
    "RowIterator",
    "RowKind",
    "TableResult",
    "with_short_floats",
]


class RowIterator:
    """Iterator over the rows of a result; closing it cancels the job that makes them.

    A row is seen once the epoch that gave it has been committed.
    """

    def __init__(
        self,
        row_type: RowType,
        rows: Sequence[Row] = (),
        job: collected.CloseableIterator[Any] | None = None,
    ) -> None:
        self._row_type = row_type
        self._rows: Iterator[Row] = iter(rows)
        self._job = job

    def __iter__(self) -> RowIterator:
        return self

    def __next__(self) -> Row:
        while True:
            for row in self._rows:
                return row
            if self._job is None:
                raise StopIteration
            data, kinds = collected_batch(next(self._job))
            data = with_short_floats(data, self._row_type)
            self._rows = iter(python_rows(data, kinds, self._row_type))

    def batches(self) -> Iterator[tuple[Any, Any]]:
        """The remaining rows in columns: record batches, each with the row kinds of its rows as
        numbers."""
        rows = list(self._rows)
        if rows:
            columns = ColumnConversion(self._row_type)(RowBatch(rows))
            yield columns.data, columns.row_kinds
        for payload in self._job or ():
            yield collected_batch(payload)

    def next(self) -> Row:
        """The next row; raises StopIteration when there is none."""
        return next(self)

    def close(self) -> None:
        """Cancel the job unless it has ended, and wait for its end."""
        if self._job is not None:
            self._job.close()

    def __enter__(self) -> RowIterator:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


CloseableIterator = RowIterator
"""PyFlink's name of it."""


class TableResult:
    """The result of a statement. Flink: interface ``TableResult``.

    Its rows can be read once: by `collect`, `print`, or as columns by `to_arrow`, `to_pandas`,
    `to_polars` or `to_dataframe`.
    """

    def __init__(
        self,
        row_type: RowType,
        kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
        rows: Sequence[Row] = (),
        job: collected.CloseableIterator[Any] | None = None,
        client: EmbeddedJobClient | None = None,
        streaming: bool = False,
        time_zone: str = "UTC",
    ) -> None:
        self._row_type = row_type
        self._kind = kind
        self._listed = rows
        self._iterator = RowIterator(row_type, rows, job)
        self._client = client
        self._streaming = streaming
        self._time_zone = time_zone
        self._raw = False

    @staticmethod
    def ok() -> TableResult:
        """Result of a statement without rows."""
        row_type = RowType.of(("result", VarCharType()))
        return TableResult(row_type, ResultKind.SUCCESS, [named_row(("result",), ("OK",))])

    @staticmethod
    def of_rows(row_type: RowType, rows: Sequence[Sequence[Any]]) -> TableResult:
        """Result of a statement that lists objects."""
        return TableResult(row_type, rows=[named_row(row_type.names, row) for row in rows])

    @staticmethod
    def of_text(text: str) -> TableResult:
        """Result of EXPLAIN and SHOW CREATE: a text, which is printed unchanged."""
        row_type = RowType.of(("result", VarCharType()))
        result = TableResult(row_type, rows=[named_row(("result",), (text,))])
        result._raw = True
        return result

    def __repr__(self) -> str:
        columns = ", ".join(map(str, self._row_type.fields))
        if self._client is None:
            count = len(self._listed)
            return f"<TableResult ({columns}): {count} row{'' if count == 1 else 's'}>"
        return f"<TableResult ({columns}) of {self._client!r}>"

    def _repr_html_(self) -> str | None:
        """Display of a statement without a job, for notebooks."""
        if self._client is not None:
            return None
        if self._raw:
            return f"<pre>{escape(str(self._listed[0][0]))}</pre>"
        rows = html_rows(self._listed[:MOST_ROWS], self._row_type, self._time_zone)
        count = len(self._listed)
        return html_table(self._row_type.names, rows, f"{count} row{'' if count == 1 else 's'}")

    @property
    def time_zone(self) -> str:
        """Time zone in which points in time are shown."""
        return self._time_zone

    def get_job_client(self) -> EmbeddedJobClient | None:
        """Client of the job of a query or an INSERT; None if there is no job."""
        return self._client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait for the end of the job. For a query, another thread must read the rows during the
        wait.

        Raises:
            TimeoutError: the job has not ended after ``timeout_ms``.
            UserFunctionError, JobExecutionError: the job failed.
        """
        if self._client is not None:
            seconds = None if timeout_ms is None else timeout_ms / 1000
            self._client.get_job_execution_result().result(seconds)

    def get_table_schema(self) -> TableSchema:
        """Names and types of the columns."""
        return TableSchema.of(self._row_type)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Names and types of the columns."""
        return ResolvedSchema.physical(self._row_type.names, self._row_type.children())

    def get_result_kind(self) -> ResultKind:
        """Whether the result has rows."""
        return self._kind

    def collect(self) -> RowIterator:
        """The rows, as they arrive; rows of a changelog have their kind (`Row.get_row_kind`)."""
        return self._iterator

    def print(self) -> None:
        """Print the rows as a table, as they arrive; in a stream with their kind in ``op``."""
        if self._kind is ResultKind.SUCCESS:
            print("OK")
            return
        if self._raw:
            for row in self._iterator:
                print(row[0])
            return
        fields = self._row_type.fields
        names, widths = list(self._row_type.names), None
        if self._streaming:
            names.insert(0, "op")
            widths = [2, *(column_width(field.name, field.type) for field in fields)]
        limit = MAX_WIDTH if self._client is not None else None
        for line in tableau(names, self._cells(), widths, limit):
            print(line, flush=True, file=sys.stdout)

    def _cells(self) -> Iterator[list[str]]:
        fields = self._row_type.fields
        for row in self._iterator:
            shown = [
                cells([value], field.type, self._time_zone)[0]
                for value, field in zip(row, fields, strict=True)
            ]
            if self._streaming:
                shown.insert(0, str(row.get_row_kind()))
            yield shown

    def to_arrow(self) -> pyarrow.Table:
        """All rows as an Arrow table; for a changelog, the final rows.

        Waits until the job has ended.
        """
        return final_rows(self._iterator.batches(), self._row_type)

    def to_pandas(self) -> Any:
        """All rows as a pandas DataFrame; for a changelog, the final rows. Integer columns with
        NULLs stay integers (``Int64``); maps and rows become dicts.

        Waits until the job has ended.
        """
        return pandas_of(self.to_arrow())

    def to_polars(self) -> Any:
        """All rows as a Polars DataFrame; for a changelog, the final rows.

        Waits until the job has ended.

        Raises:
            JobDefinitionError: Polars is not installed.
        """
        return polars_of(self.to_arrow())

    def to_dataframe(self) -> Any:
        """All rows as a Spark DataFrame; for a changelog, the final rows. They pass through this
        process: use an INSERT into files for results larger than its memory.

        Waits until the job has ended.

        Raises:
            JobDefinitionError: Spark has no type for a column.
        """
        from millrace.spark.dataframe import dataframe_of

        return dataframe_of(self.to_arrow())


def materialized(rows: Iterator[Row]) -> list[Row]:
    """The final rows of a changelog: the rows that were added and not retracted."""
    left = MaterializedRows()
    for row in rows:
        left.add(row)
    return list(left)


def with_short_floats(batch: Any, row_type: RowType) -> Any:
    """The record batch with FLOAT columns, at any depth, converted to 64 bits."""
    if not _has_floats(row_type):
        return batch
    import pyarrow as pa

    columns = [
        _shortened(column) if _has_floats(field.type) else column
        for column, field in zip(batch.columns, row_type, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _has_floats(kind: LogicalType) -> bool:
    return isinstance(kind, logical.FloatType) or any(map(_has_floats, kind.children()))


def _shortened(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_float32(column.type):
        return column.cast(pa.string()).cast(pa.float64())
    return column.cast(_replaced(column.type, pa.string())).cast(
        _replaced(column.type, pa.float64())
    )


def _replaced(kind: Any, wanted: Any) -> Any:
    """The Arrow type with another type in place of 32-bit floats."""
    import pyarrow as pa

    if pa.types.is_float32(kind):
        return wanted
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_replaced(kind.value_type, wanted)))
    if pa.types.is_map(kind):
        key = kind.key_field.with_type(_replaced(kind.key_type, wanted))
        return pa.map_(key, kind.item_field.with_type(_replaced(kind.item_type, wanted)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_replaced(field.type, wanted)) for field in kind])
    return kind
