"""`DataFileReader`: reads a Parquet file that is part of a table, with the table's columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from millrace.common.source import SplitReader
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.filesystem.registry import file_system_of

if TYPE_CHECKING:
    import pyarrow

__all__ = ["DataFileReader"]

_ROWS = 8192
_ID = b"PARQUET:field_id"
_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


class DataFileReader(SplitReader[Any]):
    """Reads the rows of a data file as columns of its table; its position is the number of rows
    read.

    Columns are found by the ids of their fields where file and table have ids, else by name. One
    that the file does not have is null.

    Args:
        location: path or URI of the file.
        schema: schema of the table.
        position: rows to pass over.
        constants: values of columns that are the same in the whole file, as texts.
    """

    def __init__(
        self,
        location: str,
        schema: pyarrow.Schema,
        position: int,
        constants: Mapping[str, str | None] | None = None,
    ) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._schema = pa.schema([field.remove_metadata() for field in schema])
        self._constants = dict(constants or {})
        self._opened = file_system_of(location).open(location)
        file = pq.ParquetFile(self._opened)
        self._places = _places(schema, file.schema_arrow)
        self._total: int = file.metadata.num_rows
        self._position = position
        self._batches = _skipping(file.iter_batches(_ROWS), position)
        self._rest: pyarrow.RecordBatch | None = None

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        batch = self._rest if self._rest is not None else next(self._batches, None)
        if batch is None:
            return RowBatch([])
        self._rest = batch.slice(max_records) if batch.num_rows > max_records else None
        part = batch.slice(0, max_records)
        self._position += part.num_rows
        return ColumnBatch(self._whole(part), form="row")

    def _whole(self, part: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        import pyarrow as pa

        columns = []
        for field, place in zip(self._schema, self._places, strict=True):
            if field.name in self._constants:
                value = _constant(self._constants[field.name], field.type)
                columns.append(pa.repeat(value, part.num_rows))
            elif place is None:
                columns.append(pa.nulls(part.num_rows, field.type))
            else:
                columns.append(part.column(place).cast(field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return self._position >= self._total

    def close(self) -> None:
        self._opened.close()


def _constant(text: str | None, kind: Any) -> Any:
    """A text as a value of the given type; timestamps without a zone are in UTC, as in Delta."""
    import pyarrow as pa

    has_zone = pa.types.is_timestamp(kind) and kind.tz is not None
    if text is not None and has_zone and not _ZONE.search(text):
        text += "Z"
    return pa.scalar(text, pa.string()).cast(kind)


def _places(wanted: pyarrow.Schema, there: pyarrow.Schema) -> list[int | None]:
    """Index of each column in the file; None if the file does not have the column."""
    ids = {_id_of(field): place for place, field in enumerate(there)}
    if set(ids) == {None} or any(_id_of(field) is None for field in wanted):
        names = there.names
        return [names.index(f.name) if f.name in names else None for f in wanted]
    return [ids.get(_id_of(field)) for field in wanted]


def _id_of(field: Any) -> bytes | None:
    field_id: bytes | None = (field.metadata or {}).get(_ID)
    return field_id


def _skipping(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """The batches without their first ``rows`` rows."""
    for batch in batches:
        rest = batch.slice(min(rows, batch.num_rows))
        rows -= batch.num_rows - rest.num_rows
        if rest.num_rows:
            yield rest
