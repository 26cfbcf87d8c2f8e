"""Outputs of streams with a declared type, which refuse records of another type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.columns import VALUE
from millrace.common.types.composite_types import RowTypeInfo, TupleTypeInfo
from millrace.common.types.logical.arrow_type import arrow_schema
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row_conversion import Conversion, row_conversion
from millrace.common.types.type_check import BatchCheck, batch_check, mismatch
from millrace.common.types.type_information import BasicType, BasicTypeInfo, TypeInformation
from millrace.common.types.typeinfo import instead_of_type
from millrace.common.types.value_types import DateTypeInfo
from millrace.runtime.operator import Operator
from millrace.runtime.output import Output

if TYPE_CHECKING:
    import pyarrow

__all__ = ["DeclaredRecords", "declared_output", "with_declared_output"]


@dataclass(frozen=True)
class DeclaredRecords:
    """Converts batches to a declared type: tuples to rows if the type has rows. Other records
    are refused."""

    type_info: TypeInformation[Any]
    convert: Conversion | None
    fits: BatchCheck | None

    @staticmethod
    def of(type_info: TypeInformation[Any] | None) -> DeclaredRecords | None:
        """Conversion to a type. None if the stream may hold any records."""
        if type_info is None:
            return None
        _require_type(type_info)
        convert, fits = row_conversion(type_info), batch_check(type_info)
        return None if convert is fits is None else DeclaredRecords(type_info, convert, fits)

    def records(self, values: list[Any]) -> list[Any]:
        """Records of the batch, converted to the type.

        Raises:
            SerializationError: a record is not of the type.
        """
        if self.convert is not None:
            convert = self.convert
            values = [convert(value) for value in values]
        if self.fits is not None and not self.fits(values):
            self.refuse(values)
        return values

    def has_columns(self, batch: ColumnBatch) -> bool:
        """Whether the columns already have the declared type: form, names and Arrow types are the
        same, and all their Python values satisfy the type.
        """
        wanted = self._columns
        if wanted is None:
            return False
        form, names, types = wanted
        schema = batch.data.schema
        return batch.form == form and schema.names == names and schema.types == types

    @cached_property
    def _columns(self) -> tuple[str, list[str], list[pyarrow.DataType]] | None:
        """Form, names and Arrow types of columns that certainly have the declared type. None if
        each record must be checked instead."""
        if not _is_plain(self.type_info):
            return None
        kind = self.type_info.logical_type
        if isinstance(kind, RowType):
            form = "row" if isinstance(self.type_info, RowTypeInfo) else "tuple"
            wanted = arrow_schema(kind)
        else:
            form, wanted = "value", arrow_schema(RowType.of((VALUE, kind)))
        return form, wanted.names, wanted.types

    def refuse(self, values: list[Any]) -> NoReturn:
        """Raise the error that names the first record of another type."""
        # the report of a failure takes the record from the variable of this name
        for value in values:
            difference = mismatch(self.type_info, value)
            if difference is not None:
                raise SerializationError(
                    f"a record is declared as {self.type_info.name}, but {difference}: {value!r}; "
                    "emit what is declared, or declare what is emitted"
                )
        raise AssertionError("a batch is not of its type, but each of its records is")


def _is_plain(type_info: TypeInformation[Any]) -> bool:
    """Whether all fields keep their declared Python values in columns. Nested rows, for example,
    come back from columns as dicts, big integers as decimals, and instants as dates."""
    if isinstance(type_info, RowTypeInfo):
        return all(map(_is_plain_field, type_info.get_field_types()))
    if isinstance(type_info, TupleTypeInfo):
        return all(map(_is_plain_field, type_info.types))
    return _is_plain_field(type_info)


def _is_plain_field(type_info: TypeInformation[Any]) -> bool:
    if isinstance(type_info, BasicTypeInfo):
        return type_info.label not in (BasicType.BIG_INT.name, "COMPLEX")
    return isinstance(type_info, DateTypeInfo)


@dataclass(frozen=True, slots=True)
class DeclaredOutput:
    """Output for records of a declared type."""

    output: Output
    declared: DeclaredRecords

    def emit(self, batch: Batch) -> None:
        """Check the batch and pass it on."""
        if isinstance(batch, ColumnBatch) and self.declared.has_columns(batch):
            self.output.emit(batch)
            return
        rows = batch.to_rows()
        records = self.declared.records(rows.values)
        if records is not rows.values:
            rows = RowBatch(records, rows.timestamps)
        self.output.emit(rows)

    def emit_watermark(self, timestamp: int) -> None:
        """Pass on the watermark."""
        self.output.emit_watermark(timestamp)


def declared_output(output: Output, type_info: TypeInformation[Any] | None) -> Output:
    """An output that checks records against a type, and passes them to ``output``. Returns
    ``output`` itself if any records are allowed.
    """
    declared = DeclaredRecords.of(type_info)
    return output if declared is None else DeclaredOutput(output, declared)


@dataclass(frozen=True, slots=True)
class _Declared:
    factory: Callable[[], Operator]
    type_info: TypeInformation[Any]

    def __call__(self) -> Operator:
        operator = self.factory()
        operator.output_wrapper = self._output
        return operator

    def _output(self, output: Output) -> Output:
        return declared_output(output, self.type_info)


def with_declared_output(
    factory: Callable[[], Operator], output_type: TypeInformation[Any] | None
) -> Callable[[], Operator]:
    """Wrap the factory of an operator, so that its output refuses records of another type."""
    if output_type is None:
        return factory
    _require_type(output_type)
    return _Declared(factory, output_type)


def _require_type(declared: Any) -> None:
    if not isinstance(declared, TypeInformation):
        raise JobDefinitionError(f"records are declared by a type {instead_of_type(declared)}")
