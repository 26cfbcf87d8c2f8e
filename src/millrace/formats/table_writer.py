"""Conversion of records to Arrow tables, for files such as Parquet and ORC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from millrace.common.errors import SerializationError
from millrace.common.serialization import BulkWriter
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.row import Row, plain
from millrace.formats.records import field_columns, field_names, field_values

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TableBulkWriter", "TableFile"]

_ROW_GROUP_ROWS = 1 << 17


class TableFile(Protocol):
    """A file whose columns are known only after its first records."""

    def open(self, schema: pyarrow.Schema) -> Any:
        """A writer of tables, with ``write_table`` or ``write``, and ``close``."""
        ...


class TableBulkWriter(BulkWriter[Any]):
    """Collects records into row groups.

    Args:
        schema: schema of the columns; None to take it from the first records.
        maker: the class that declares columns, for messages.
    """

    def __init__(self, file: TableFile, schema: Any, maker: str) -> None:
        self._file = file
        self._schema = schema
        self._inferred = schema is None
        self._maker = maker
        self._pending: list[Any] = []
        self._columns: list[pyarrow.RecordBatch] = []
        self._column_rows = 0
        self._writer: Any = None

    def add_elements(self, elements: Sequence[Any]) -> None:
        self._flush_columns()
        self._pending += elements
        if len(self._pending) >= _ROW_GROUP_ROWS:
            self._flush_records()

    def add_columns(self, batch: ColumnBatch) -> None:
        self._flush_records()
        with self._explained():
            data = self._fitted(batch)
        if data is None:
            self.add_elements(batch.to_rows().values)
            return
        self._columns.append(data)
        self._column_rows += data.num_rows
        if self._column_rows >= _ROW_GROUP_ROWS:
            self._flush_columns()

    def flush(self) -> None:
        self._flush_records()
        self._flush_columns()

    def finish(self) -> None:
        self.flush()
        if self._writer is not None:
            self._writer.close()

    def _flush_records(self) -> None:
        values, self._pending = self._pending, []
        if values:
            with self._explained(values):
                self._write_row_group(self._table(values))

    def _flush_columns(self) -> None:
        import pyarrow as pa

        batches, self._columns = self._columns, []
        self._column_rows = 0
        if batches:
            with self._explained():
                self._write_row_group(pa.Table.from_batches(batches))

    def _write_row_group(self, table: pyarrow.Table) -> None:
        if self._writer is None:
            self._writer = self._file.open(table.schema)
        self._writer.write(table)

    def _fitted(self, batch: ColumnBatch) -> pyarrow.RecordBatch | None:
        """Columns in the file's schema; None if the records must be converted one by one."""
        import pyarrow as pa

        from millrace.formats.parquet_columns import file_schema

        if self._schema is None:
            if batch.form not in ("dict", "row"):
                return None
            self._schema = file_schema(batch.data.schema)
        columns = field_columns(tuple(self._schema.names), batch)
        if columns is None:
            return None
        pairs = zip(columns, self._schema.types, strict=True)
        arrays = [_converted(column, kind) for column, kind in pairs]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _table(self, values: list[Any]) -> pyarrow.Table:
        import pyarrow as pa

        if self._schema is not None:
            columns = _columns(tuple(self._schema.names), values)
            pairs = zip(columns, self._schema.types, strict=True)
            arrays = [_array(column, type_) for column, type_ in pairs]
            return pa.Table.from_arrays(arrays, schema=self._schema)
        names = tuple(dict.fromkeys(name for value in values for name in field_names(value)))
        arrays = [pa.array(column) for column in _columns(names, values)]
        table = pa.Table.from_arrays(arrays, names=list(names))
        self._schema = table.schema
        return table

    def _culprit(self, values: Sequence[Any]) -> str:
        """Description of the first value that does not fit its column, for the error."""
        if self._schema is None:
            return ""
        names = tuple(self._schema.names)
        for value in values:
            try:
                fields = field_values(names, value)
            except (SerializationError, TypeError, ValueError):
                return f"; the record is {repr(value)[:300]}"
            for name, kind, field in zip(names, self._schema.types, fields, strict=True):
                try:
                    _array(_plain_column([field]), kind)
                except Exception:  # whatever it was for all of them
                    return f"; column {name!r} ({kind}) of the record {repr(value)[:300]}"
        return ""

    @contextmanager
    def _explained(self, values: Sequence[Any] = ()) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            hint = (
                "; the columns were taken from the first records: declare them with "
                f"{self._maker}.for_row_type(Types.ROW_NAMED([names], [types]))"
                if self._inferred
                else ""
            )
            kind = self._maker.removesuffix("BulkWriters")
            raise SerializationError(
                f"records do not fit the {kind} columns: {error}{self._culprit(values)}{hint}"
            ) from None


def _converted(column: pyarrow.Array, kind: pyarrow.DataType) -> pyarrow.Array:
    from millrace.formats.parquet_columns import column_as

    cast = column_as(column, kind)
    return _array(_plain_column(column.to_pylist()), kind) if cast is None else cast


def _array(column: Sequence[Any], arrow_type: pyarrow.DataType) -> pyarrow.Array:
    import pyarrow as pa

    # Arrow would cut off the fractions without a word.
    if pa.types.is_integer(arrow_type) and float in set(map(type, column)):
        for item in column:
            if isinstance(item, float) and not item.is_integer():
                raise ValueError(f"{item!r} is not a whole number")
    return pa.array(column, arrow_type)


def _columns(names: tuple[str, ...], values: list[Any]) -> list[Sequence[Any]]:
    rows = [field_values(names, value) for value in values]
    if not rows:
        return [[] for _ in names]
    return [_plain_column(column) for column in zip(*rows, strict=True)]


def _plain_column(column: Sequence[Any]) -> Sequence[Any]:
    if {Row, list, dict}.isdisjoint(map(type, column)):
        return column
    return [plain(item) for item in column]
