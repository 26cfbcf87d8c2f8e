"""`ColumnarRowInputFormat`: what formats of files in columns have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.row import Row
from millrace.formats.file_format import BulkFormat
from millrace.formats.records import require_record_type

__all__ = ["ColumnarRowInputFormat"]


class ColumnarRowInputFormat(BulkFormat[Any]):
    """Each row of a file becomes a `Row` with names, or a dict.

    Args:
        row_type: the columns to read, by name; None for all. The values have the types that the
            file gives them.
        batch_size: rows handed on at a time.
        record_type: ``Row`` or ``dict``.
        columnar: keep the rows in columns for `DataStream.map_batches`; whoever wants them one by
            one gets them as ``record_type`` says.

    Raises:
        JobDefinitionError: the record type is neither.
    """

    def __init__(
        self,
        row_type: RowTypeInfo | None = None,
        batch_size: int = 8192,
        record_type: type[Any] = Row,
        columnar: bool = False,
    ) -> None:
        self._columnar = columnar
        self._columns = None if row_type is None else tuple(row_type.get_field_names())
        self._batch_size = batch_size
        self._record_type = require_record_type(record_type)

    def _names(self, available: Sequence[str]) -> tuple[str, ...]:
        """The columns to read, of those that a file has."""
        for name in self._columns or ():
            if name not in available:
                raise SerializationError(f"no column {name!r}; it has {', '.join(available)}")
        return self._columns or tuple(available)
