"""Columnar batches: records that stay an Arrow record batch until somebody wants them one by one.

A `Columns` is a sequence of records like the lists that operators hand on, made when it is first
iterated. Vectorised operators and exchanges that keep batches together use the record batch itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.row import Row, named_row

if TYPE_CHECKING:
    import pyarrow

FORMS = ("dict", "row", "tuple", "value")
"""What the records of a columnar batch are as Python objects."""
VALUE = "value"
"""The one column of records that are no records of fields."""
TIMES = "@event-time"
"""The column in which event times travel."""


def arrow() -> Any:
    """The module pyarrow. Raises JobDefinitionError when it is missing."""
    try:
        import pyarrow
    except ImportError:
        raise JobDefinitionError(
            "columnar batches need pyarrow; install millrace[parquet]"
        ) from None
    return pyarrow


class Columns(Sequence[Any]):
    """The records of a `pyarrow.RecordBatch`. Nobody changes it."""

    def __init__(self, batch: pyarrow.RecordBatch, form: str = "dict") -> None:
        self.batch = batch
        self.form = form
        self._records: list[Any] | None = None

    def records(self) -> list[Any]:
        """The records as Python objects, made once."""
        if self._records is None:
            self._records = _records(self.batch, self.form)
        return self._records

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.records())

    def __getitem__(self, index: Any) -> Any:
        return self.records()[index]


def _records(batch: pyarrow.RecordBatch, form: str) -> list[Any]:
    if form == "dict":
        rows: list[Any] = batch.to_pylist()
        return rows
    columns = [column.to_pylist() for column in batch.columns]
    if form == "value":
        if len(columns) != 1:
            raise JobExecutionError(
                f'records="value" needs batches with one column, got {batch.schema.names}'
            )
        return list(columns[0])
    tuples = list(zip(*columns, strict=True))
    if form == "tuple":
        return tuples
    names = tuple(batch.schema.names)
    return [named_row(names, values) for values in tuples]


def to_batch(values: Sequence[Any]) -> pyarrow.RecordBatch:
    """The records as a record batch; their fields are its columns."""
    if isinstance(values, Columns):
        return values.batch
    pa, first = arrow(), values[0]
    try:
        if isinstance(first, dict):
            return _of_dicts(values, first)
        names = _names(first)
        if names is None:
            return pa.RecordBatch.from_arrays([pa.array(values)], [VALUE])
        columns = _columns(values, first, names)
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names)
    except (pa.ArrowException, AttributeError, OverflowError, TypeError, ValueError) as error:
        raise JobExecutionError(
            f"records like {first!r} cannot be made into columns ({error}); all of a batch must "
            "have the same fields, of types that Arrow knows"
        ) from error


def _of_dicts(values: Sequence[Any], first: dict[str, Any]) -> pyarrow.RecordBatch:
    # Arrow would take the fields of the first one, and leave out what others have more
    if any(value.keys() != first.keys() for value in values):
        raise ValueError("they do not all have its fields")
    return arrow().RecordBatch.from_pylist(list(values))


def _names(first: Any) -> list[str] | None:
    """The columns that a record's fields become; None: it is a plain value."""
    if isinstance(first, (Row, tuple)):
        return list(getattr(first, "_fields", None) or _numbered(len(first)))
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        return [field.name for field in dataclasses.fields(first)]
    return None


def _numbered(count: int) -> list[str]:
    return [f"f{index}" for index in range(count)]


def _columns(values: Sequence[Any], first: Any, names: list[str]) -> list[Any]:
    if any(type(value) is not type(first) or _names(value) != names for value in values):
        raise ValueError("they are not all of its type, with its fields in its order")
    if dataclasses.is_dataclass(first):
        return [[getattr(value, name) for value in values] for name in names]
    return [list(column) for column in zip(*values, strict=True)]


def pack(columns: Columns, timestamps: list[int] | None) -> bytes:
    """A columnar batch with event times as bytes (Arrow IPC)."""
    pa = arrow()
    if TIMES in columns.batch.schema.names:
        raise JobExecutionError(f"a column may not be called '{TIMES}'; rename it")
    metadata = {b"form": columns.form.encode()}
    batch = columns.batch.replace_schema_metadata(metadata)
    if timestamps is not None:
        batch = batch.append_column(TIMES, pa.array(timestamps, pa.int64()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpack(payload: bytes) -> tuple[Columns, list[int] | None]:
    """What `pack` was given."""
    pa = arrow()
    with pa.ipc.open_stream(payload) as reader:
        batch = reader.read_next_batch()
    form = batch.schema.metadata[b"form"].decode()
    timestamps: list[int] | None = None
    if TIMES in batch.schema.names:
        timestamps = batch.column(TIMES).to_pylist()
        batch = batch.drop_columns([TIMES])
    return Columns(batch, form), timestamps
