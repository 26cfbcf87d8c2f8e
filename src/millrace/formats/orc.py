"""ORC files as a source. Flink docs: "ORC format"."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.column_values import column_values
from millrace.common.types.row import Row
from millrace.filesystem.registry import file_system_of
from millrace.formats.arrow_damage import damage, invalidity
from millrace.formats.columnar_row_input_format import ColumnarRowInputFormat, with_missing_columns
from millrace.formats.file_format import FileRange, FormatReader
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.records import records_from_columns

__all__ = ["OrcColumnarRowInputFormat", "in_microseconds"]

_MAX_STRIPES = 1 << 20


class OrcColumnarRowInputFormat(ColumnarRowInputFormat):
    """Reads each row of an ORC file as a `Row` with names, or as a dict; files are split at
    stripes.

    Its arguments are those of `ColumnarRowInputFormat`.
    """

    def ranges(self, path: str, size: int, split_size: int) -> Sequence[FileRange]:
        with damage("not a complete ORC file"), ExitStack() as opened:
            stripes = _orc_file(path, opened).nstripes
        if not 0 <= stripes <= min(_MAX_STRIPES, size):
            raise SerializationError(f"not a complete ORC file: it has {stripes} stripes")
        pieces = max(1, min(stripes, round(size / split_size)))
        bounds = [stripes * i // pieces for i in range(pieces + 1)]
        return [FileRange(a, b) for a, b in pairwise(bounds) if a < b]

    def open(self, path: str, file_range: FileRange, position: Any) -> FormatReader[Any]:
        with damage("not a complete ORC file"), ExitStack() as opened:
            file = _orc_file(path, opened)
            names = self._names(file.schema.names)
            reader = OrcReader(
                file,
                opened.pop_all(),
                names,
                file_range.end,
                position or (file_range.start, 0),
                self._batch_size,
            )
        reader.record_type, reader.columnar = self._record_type, self._columnar
        return reader


class OrcReader(FormatReader[Any]):
    """Reads stripes; its position is a stripe, and the number of its rows that were read or
    lost."""

    record_type: type[Any] = Row
    columnar = False

    def __init__(
        self,
        file: Any,
        opened: ExitStack,
        names: tuple[str, ...],
        end: int,
        position: tuple[int, int],
        batch_size: int,
    ) -> None:
        self._file = file
        self._opened = opened
        self._names = names
        self._end = end
        self._stripe, self._row = position
        self._batch_size = batch_size
        self._batch: Any = None
        """The open stripe."""

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        self.skipped = 0
        while not self.finished() and not self.skipped and max_records > 0:
            if self._batch is None and not self._open_stripe():
                continue
            part = self._batch.slice(self._row, min(max_records, self._batch_size))
            records = self._records(part, self._row)
            self._row += part.num_rows
            if self._row >= self._batch.num_rows:
                self._go_on()
            if len(records):
                return records
        return RowBatch([])

    def position(self) -> tuple[int, int]:
        return self._stripe, self._row

    def finished(self) -> bool:
        return self._stripe >= self._end

    def close(self) -> None:
        self._opened.close()

    def _open_stripe(self) -> bool:
        """Read the stripe; False if it is damaged or has no rows left."""
        try:
            with damage("damaged ORC"):
                known = set(self._file.schema.names)
                # a stripe of no columns has no number of rows
                names = [name for name in self._names if name in known] or self._file.schema.names
                batch = self._file.read_stripe(self._stripe, columns=names)
                batch = with_missing_columns(batch, self._names)
                if not self.columnar:  # Python's times; columns keep all digits
                    batch = in_microseconds(batch)
                reason = invalidity(batch)
                if reason is not None:
                    raise SerializationError(f"damaged ORC: {reason}")
        except SerializationError as error:
            place = f"stripe {self._stripe} is lost: {error}"
            self.malformed(MalformedRecordError(place, None, self._stripe))
            self._go_on()
            return False
        self._batch = batch
        if self._row >= batch.num_rows:
            self._go_on()
            return False
        return True

    def _go_on(self) -> None:
        self._batch, self._row = None, 0
        self._stripe += 1

    def _records(self, part: Any, row: int) -> RowBatch[Any] | ColumnBatch:
        if self.columnar:
            return ColumnBatch(part, form="dict" if self.record_type is dict else "row")
        try:
            return RowBatch(self._rows(part))
        except (ValueError, OverflowError):
            return RowBatch(self._one_by_one(part, row))

    def _rows(self, part: Any) -> list[Any]:
        columns = [column_values(column, self.record_type) for column in part.columns]
        return records_from_columns(self.record_type, self._names, columns)

    def _one_by_one(self, part: Any, row: int) -> list[Any]:
        """Rows read one by one, because one has a value that Python cannot represent, such as a
        very distant date."""
        rows: list[Any] = []
        for index in range(part.num_rows):
            try:
                rows += self._rows(part.slice(index, 1))
            except (ValueError, OverflowError) as error:
                self.malformed(MalformedRecordError(f"{error}", None, row + index))
        return rows


def _orc_file(path: str, opened: ExitStack) -> Any:
    """The ORC file, which is closed with ``opened``."""
    from pyarrow.orc import ORCFile

    return ORCFile(opened.enter_context(file_system_of(path).open(path)))


def in_microseconds(batch: Any) -> Any:
    """The batch with times in microseconds, which Python uses; ORC has nanoseconds."""
    import pyarrow as pa

    fields = [field.with_type(_microseconds(field.type)) for field in batch.schema]
    schema = pa.schema(fields)
    return batch if schema.equals(batch.schema) else batch.cast(schema, safe=False)


def _microseconds(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_microseconds(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_microseconds(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_microseconds(kind.key_type), _microseconds(kind.item_type))
    return kind
