"""`ColumnType`: the type of a column of ids or values, and its values in Python.

A column that a program has typed, or whose type follows from its values or from the annotation of a
function, has a `TypeInformation`; a column of a DataFrame has a logical type. Values without a type
are pickled, each in a field of binary type.
"""

from __future__ import annotations

import dataclasses
import pickle
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.arrow_values import RawCodec, from_arrow, to_arrow
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.logical.arrow_type import arrow_type, logical_type_of
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.logical.python_values import arrow_column, python_values
from millrace.common.types.row import Row
from millrace.common.types.type_hints import type_of
from millrace.common.types.type_information import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
    TypeInformation,
)
from millrace.common.types.value_types import TimestampTypeInfo

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "NULL",
    "PICKLED",
    "ColumnType",
    "column_type_of_arrow",
    "declared_column_type",
    "inferred_column_type",
    "result_type",
]

Declared = Any
"""A type as a program gives it: a `TypeInformation` (`Types`), a logical type (`DataTypes`), its
text in SQL, or a type hint (``float``, ``tuple[int, str]``, a dataclass)."""


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnType:
    """Type of a column of ids or values.

    Example:
        >>> column = ColumnType(type_of(tuple[int, str])).encode([(1, "a"), None])
        >>> str(column.type), ColumnType(type_of(tuple[int, str])).decode(column)
        ('struct<f0: int64, f1: string>', [(1, 'a'), None])
    """

    kind: TypeInformation[Any] | LogicalType

    @property
    def logical_type(self) -> LogicalType:
        """The column's type in SQL."""
        kind = self.kind
        return kind.logical_type if isinstance(kind, TypeInformation) else kind

    @property
    def arrow(self) -> pyarrow.DataType:
        """Arrow type of the column."""
        return arrow_type(self.logical_type)

    def as_field(self) -> TypeInformation[Any]:
        """The same type for a field of a tuple or class."""
        kind = self.kind
        return kind if isinstance(kind, TypeInformation) else _LogicalTypeInfo(kind)

    @property
    def is_pickled(self) -> bool:
        """Whether the values have no type, and are pickled one by one."""
        return isinstance(self.kind, PickledBytesTypeInfo)

    @property
    def is_null(self) -> bool:
        """Whether all values are None: for `NULL`, and for the type of a column of NULLs in a
        DataFrame."""
        return str(self.logical_type.with_nullable(True)) == _NULL_NAME

    def encode(self, values: Sequence[Any]) -> pyarrow.Array:
        """Encode Python values as a column.

        Raises:
            SerializationError: a value is not of the type; the message shows it.
        """
        if isinstance(self.kind, TypeInformation):
            return to_arrow(values, self.kind, _PICKLE)
        try:
            return arrow_column(values, self.kind)
        except (ValueError, TypeError, OverflowError, AttributeError, LookupError) as error:
            raise SerializationError(
                f"a value does not fit a column of {self.kind}: {error}"
            ) from error

    def decode(self, column: pyarrow.Array) -> list[Any]:
        """Decode a column to Python values.

        Raises:
            SerializationError: the column does not hold values of the type.
        """
        if isinstance(self.kind, TypeInformation):
            if column.type != self.arrow:
                column = column.cast(self.arrow)
            return from_arrow(column, self.kind, _PICKLE)
        return python_values(column, self.kind)

    def __str__(self) -> str:
        return self.kind.name if isinstance(self.kind, TypeInformation) else str(self.kind)


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class _LogicalTypeInfo(TypeInformation[Any]):
    """Type of a field whose values are the values of a DataFrame's column."""

    kind: LogicalType

    @property
    def name(self) -> str:
        return str(self.kind)

    @property
    def bridged_type(self) -> LogicalType:
        return self.kind


def _pickled(value: Any) -> bytes:
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise TypeError(f"it cannot be pickled ({error})") from error
    return data


_PICKLE = RawCodec(_pickled, pickle.loads)
NULL = ColumnType(BasicTypeInfo("NONE"))
"""Type of the values of a graph without values. Gelly: ``NullValue``. A column of a DataFrame has
another one with the same meaning: ask `ColumnType.is_null`."""
_NULL_NAME = str(NULL.logical_type.with_nullable(True))
PICKLED = ColumnType(PickledBytesTypeInfo())


def column_type_of_arrow(kind: pyarrow.DataType) -> ColumnType:
    """Type of a column of a DataFrame or an Arrow table; structs are `Row` in Python.

    Raises:
        JobDefinitionError: no type corresponds to the Arrow type.
    """
    return ColumnType(logical_type_of(kind))


def declared_column_type(declared: Declared) -> ColumnType:
    """Type of a column as a program declares it.

    Raises:
        JobDefinitionError: it does not name a type.
    """
    if isinstance(declared, ColumnType):
        return declared
    if isinstance(declared, TypeInformation | LogicalType):
        return ColumnType(declared)
    if isinstance(declared, str):
        return ColumnType(parse_type(declared))
    return ColumnType(type_of(declared))


def result_type(function: Any, declared: Declared | None) -> ColumnType:
    """Type of a function's results: the declared type, else the type in its annotation. Results
    without either are pickled.

    Example:
        >>> def length(text: str) -> int: ...
        >>> str(result_type(length, None)), str(result_type(len, None))
        ('LONG', 'PICKLED_BYTE_ARRAY')
    """
    if declared is not None:
        return declared_column_type(declared)
    hint = _result_hint(function)
    if hint is None:
        return PICKLED
    try:
        return declared_column_type(hint)
    except JobDefinitionError:
        return PICKLED


def _result_hint(function: Any) -> Any:
    """Annotation of the result; None if there is none that names a type."""
    annotated = function if hasattr(function, "__annotations__") else type(function).__call__
    try:
        hint = typing.get_type_hints(annotated, include_extras=True).get("return")
    except (NameError, TypeError, AttributeError):
        return None
    return None if hint is type(None) or isinstance(hint, type(None) | typing.TypeVar) else hint


def inferred_column_type(values: Sequence[Any]) -> ColumnType:
    """Type of the column that holds the given Python values. Values without a common type are
    pickled.

    Example:
        >>> [str(inferred_column_type(values)) for values in ([1, 2.5], ["a", None], [(1, "x")])]
        ['DOUBLE', 'STRING', 'TUPLE(LONG, STRING)']
        >>> str(inferred_column_type([1, "a"]))
        'PICKLED_BYTE_ARRAY'
    """
    return ColumnType(_inferred(values))


def _inferred(values: Sequence[Any]) -> TypeInformation[Any]:
    classes = set(map(type, values)) - {type(None)}
    if not classes:
        return BasicTypeInfo("NONE")
    if all(cls.__module__ == "numpy" and hasattr(cls, "item") for cls in classes):
        return _inferred([value if value is None else value.item() for value in values])
    if classes == {int}:
        return _of_integers(values)
    if classes == {int, float}:
        return BasicTypeInfo("DOUBLE")
    if len(classes) > 1:
        return PickledBytesTypeInfo()
    present = [value for value in values if value is not None]
    return _inferred_of_class(classes.pop(), present)


def _of_integers(values: Sequence[Any]) -> TypeInformation[Any]:
    present = [value for value in values if value is not None]
    fits = min(present) >= -(2**63) and max(present) < 2**63
    return BasicTypeInfo("LONG") if fits else PickledBytesTypeInfo()


def _inferred_of_class(cls: type, present: list[Any]) -> TypeInformation[Any]:
    """Type of values of one class, None not among them."""
    if cls is tuple:
        return _of_tuples(present)
    if cls is list:
        element = _inferred([item for value in present for item in value])
        return ListTypeInfo(element) if _is_typed(element) else PickledBytesTypeInfo()
    if issubclass(cls, Mapping):
        return _of_mappings(cls, present)
    if cls is Row:
        return _of_rows(present)
    if cls is datetime and all(value.tzinfo is None for value in present):
        return TimestampTypeInfo()
    is_class = dataclasses.is_dataclass(cls) or issubclass(cls, Enum) or hasattr(cls, "_fields")
    if not is_class and cls.__module__ not in _STANDARD:
        return PickledBytesTypeInfo()
    try:
        return type_of(cls)
    except JobDefinitionError:
        return PickledBytesTypeInfo()


_STANDARD = ("builtins", "datetime", "decimal", "_pydecimal", "fractions", "uuid")


def _is_typed(kind: TypeInformation[Any]) -> bool:
    return not isinstance(kind, PickledBytesTypeInfo)


def _of_tuples(present: list[Any]) -> TypeInformation[Any]:
    if len(set(map(len, present))) > 1 or not present[0]:
        return PickledBytesTypeInfo()
    fields = [_inferred(column) for column in zip(*present, strict=True)]
    return TupleTypeInfo(tuple(fields))


def _of_mappings(cls: type, present: list[Any]) -> TypeInformation[Any]:
    if cls is not dict:
        return PickledBytesTypeInfo()
    key = _inferred([name for value in present for name in value])
    item = _inferred([part for value in present for part in value.values()])
    typed = _is_typed(key) and _is_typed(item) and key != BasicTypeInfo("NONE")
    return MapTypeInfo(key, item) if typed else PickledBytesTypeInfo()


def _of_rows(present: list[Row]) -> TypeInformation[Any]:
    names = present[0]._fields
    if any(row._fields != names or len(row) != len(present[0]) for row in present):
        return PickledBytesTypeInfo()
    fields = tuple(_inferred(column) for column in zip(*map(tuple, present), strict=True))
    return RowTypeInfo(fields, names) if fields else PickledBytesTypeInfo()


def function_name(function: Callable[..., Any]) -> str:
    """Name by which a program knows a function."""
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    return name
