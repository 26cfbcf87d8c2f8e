"""Batches of records between operators and in exchanges, as rows or as columns.

A batch that was handed on belongs to nobody: neither side may change it any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.types.columns import from_records, kinds_of, to_records

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Batch", "BatchForm", "ColumnBatch", "ImmutableRows", "RowBatch", "in_form"]

T = TypeVar("T")


class BatchForm(Enum):
    """Form in which an operator, a sink or a file format takes batches."""

    ROWS = "ROWS"
    """Batches are `RowBatch`."""
    COLUMNS = "COLUMNS"
    """Batches are `ColumnBatch`."""
    EITHER = "EITHER"
    """Each as it comes."""


@dataclass(slots=True)
class RowBatch(Generic[T]):
    """Records as a list of Python objects.

    Attributes:
        values: the records.
        timestamps: their event times in ms since the epoch, one per record, or None.

    Example:
        >>> RowBatch([{"x": 1}, {"x": 2}], [1000, 2000]).to_columns().data.schema.names
        ['x']
    """

    values: list[T]
    timestamps: list[int] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, end: int) -> RowBatch[T]:
        """The records from ``start`` up to ``end``."""
        times = self.timestamps
        return type(self)(self.values[start:end], None if times is None else times[start:end])

    def to_rows(self) -> RowBatch[T]:
        """The batch itself, because it has this form already."""
        return self

    def to_columns(self, form: str = "dict") -> ColumnBatch:
        """The records as columns. ``form`` names the Python form of the records, so that they can
        be converted back.

        Raises:
            JobExecutionError: they do not all have the same fields, of types that Arrow knows.
        """
        import pyarrow as pa

        data = from_records(self.values)
        times = None if self.timestamps is None else pa.array(self.timestamps, pa.int64())
        return ColumnBatch(data, times, kinds_of(self.values), form)


class ImmutableRows(RowBatch[T]):
    """Records that cannot be changed in place, so that checks for changes can skip them."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class ColumnBatch:
    """Records as an Arrow record batch.

    Attributes:
        data: the columns.
        timestamps: event times in ms since the epoch (int64, no nulls), or None.
        row_kinds: the numbers of the records' `RowKind` (int8, no nulls), or None: all inserts.
        form: Python form of a record: "dict", "row", "tuple" or "value".

    Example:
        >>> import pyarrow
        >>> batch = ColumnBatch(pyarrow.record_batch({"x": [1, 2]}), form="tuple")
        >>> batch.to_rows().values
        [(1,), (2,)]
    """

    data: pyarrow.RecordBatch
    timestamps: pyarrow.Int64Array | None = None
    row_kinds: pyarrow.Int8Array | None = None
    form: str = "dict"

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def to_rows(self) -> RowBatch[Any]:
        """The records as new Python objects."""
        times = None if self.timestamps is None else self.timestamps.to_pylist()
        return RowBatch(to_records(self.data, self.form, self.row_kinds), times)

    def to_columns(self, form: str = "dict") -> ColumnBatch:
        """The batch itself, because it has this form already."""
        return self

    def same_columns(self, other: ColumnBatch) -> bool:
        """Whether two batches have columns of the same names and types, so that they could be one
        batch. Metadata, such as pandas' description of its index, may differ.
        """
        return (
            self.form == other.form
            and (self.timestamps is None) == (other.timestamps is None)
            and (self.row_kinds is None) == (other.row_kinds is None)
            and self.data.schema.equals(other.data.schema)
        )

    def has_changes(self) -> bool:
        """Whether any record is an update or a deletion."""
        if self.row_kinds is None:
            return False
        return bool(self.row_kinds.to_numpy(zero_copy_only=False).any())

    def slice(self, start: int, end: int) -> ColumnBatch:
        """The records from ``start`` up to ``end``, without copying."""
        times, kinds, length = self.timestamps, self.row_kinds, end - start
        return ColumnBatch(
            self.data.slice(start, length),
            None if times is None else times.slice(start, length),
            None if kinds is None else kinds.slice(start, length),
            self.form,
        )

    def filter(self, mask: pyarrow.BooleanArray) -> ColumnBatch:
        """The records at which ``mask``, which has no nulls, is true."""
        times, kinds = self.timestamps, self.row_kinds
        return ColumnBatch(
            self.data.filter(mask),
            None if times is None else times.filter(mask),
            None if kinds is None else kinds.filter(mask),
            self.form,
        )


Batch = RowBatch[Any] | ColumnBatch


def in_form(batch: Batch, form: BatchForm) -> Batch:
    """The batch, converted to a form; the batch itself if it has that form already.

    Raises:
        JobExecutionError: the records cannot become columns, or columns records.
    """
    if form is BatchForm.ROWS:
        return batch.to_rows()
    return batch.to_columns() if form is BatchForm.COLUMNS else batch
