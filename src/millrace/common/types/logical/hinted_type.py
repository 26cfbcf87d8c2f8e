"""`hinted_type`: column types from type hints. ``list[int]`` becomes ``ARRAY<BIGINT>``.

Hints say nothing of sizes, so numbers, decimals and times get room: BIGINT, DECIMAL(38, 18),
TIMESTAMP(6). `Annotated` names another type: ``Annotated[int, "SMALLINT"]``.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Union

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Instant
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import logical_type_of
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.logical.parser import parse_type

__all__ = ["hinted_type", "hints_of"]

_SINGLE: dict[Any, LogicalType] = {
    bool: logical.BooleanType(),
    int: logical.BigIntType(),
    float: logical.DoubleType(),
    str: logical.VarCharType(),
    bytes: logical.VarBinaryType(),
    bytearray: logical.VarBinaryType(),
    Decimal: logical.DecimalType(38, 18),
    date: logical.DateType(),
    time: logical.TimeType(6),
    datetime: logical.TimestampType(6),
    timedelta: logical.DayTimeIntervalType("DAY TO SECOND", 6, 6),
    Instant: logical.LocalZonedTimestampType(6),
}


def hinted_type(hint: Any) -> LogicalType:
    """The column type that a type hint describes; it is always nullable.

    Raises:
        JobDefinitionError: the hint, or that of a field, says no type.

    Example:
        >>> hinted_type(dict[str, list[int]]), hinted_type(tuple[int, str | None])
        (MAP<STRING, ARRAY<BIGINT>>, ROW<`f0` BIGINT, `f1` STRING>)
    """
    return _typed(hint, ())


def hints_of(function: Callable[..., Any] | type) -> dict[str, Any]:
    """The hints of a function or class, by parameter or field; ``return`` is the hint of the
    result.

    Raises:
        JobDefinitionError: they name what cannot be found.
    """
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        name = getattr(function, "__qualname__", type(function).__name__)
        raise JobDefinitionError(
            f"the type hints of {name} cannot be read ({error}): define the names in them "
            "at the top level of its module, or declare the types, for example "
            "result_type='BIGINT'"
        ) from error


def _typed(hint: Any, inside: tuple[type, ...]) -> LogicalType:
    if isinstance(hint, LogicalType):
        return hint
    if isinstance(hint, NewType):
        return _typed(hint.__supertype__, inside)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _annotated(hint, args, inside)
    if origin is Union or origin is types.UnionType:
        return _one_of(hint, {arg for arg in args if arg is not type(None)}, inside)
    if origin is Literal:
        return _one_of(hint, {type(arg) for arg in args if arg is not None}, inside)
    if origin is not None:
        return _generic(hint, origin, args, inside)
    if hint in _SINGLE:
        return _SINGLE[hint]
    if isinstance(hint, type):
        return _of_class(hint, inside)
    raise _refusal(hint)


def _annotated(hint: Any, args: tuple[Any, ...], inside: tuple[type, ...]) -> LogicalType:
    """The type that an annotation gives, as in ``Annotated[int, "SMALLINT"]``; for a column also
    the type of its values, as in ``Annotated[pandas.Series, int]``."""
    import pyarrow as pa

    for extra in args[1:]:
        if isinstance(extra, LogicalType):
            return extra
        if isinstance(extra, str):
            return parse_type(extra)
        if isinstance(extra, pa.DataType):
            return logical_type_of(extra)
        if _is_column(args[0]):
            return _typed(extra, inside)
    return _typed(args[0], inside)


def _one_of(hint: Any, members: set[Any], inside: tuple[type, ...]) -> LogicalType:
    if len(members) != 1:
        raise JobDefinitionError(
            f"the type hint {_shown(hint)} has more than one type, but a column has one: "
            "hint one of them, or one with None"
        )
    return _typed(members.pop(), inside).with_nullable(True)


def _generic(
    hint: Any, origin: Any, args: tuple[Any, ...], inside: tuple[type, ...]
) -> LogicalType:
    inner = [_typed(arg, inside) for arg in args if arg is not Ellipsis]
    if origin is tuple and inner and args[-1] is not Ellipsis:
        return RowType.of(*((f"f{index}", kind) for index, kind in enumerate(inner)))
    if isinstance(origin, type) and issubclass(origin, Mapping) and len(inner) == 2:
        return logical.MapType(*inner)
    if isinstance(origin, type) and issubclass(origin, Sequence) and len(inner) == 1:
        return logical.ArrayType(inner[0])
    raise _refusal(hint)


def _of_class(cls: type, inside: tuple[type, ...]) -> LogicalType:
    if cls in inside:
        raise JobDefinitionError(
            f"class {cls.__qualname__} contains itself, and a column cannot: declare the type"
        )
    if dataclasses.is_dataclass(cls):
        names = [field.name for field in dataclasses.fields(cls)]
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        names = list(cls._fields)
    elif typing.is_typeddict(cls):
        names = list(cls.__annotations__)
    else:
        array_type = _of_array_class(cls)
        if array_type is None:
            raise _refusal(cls)
        return array_type
    hints, fields = hints_of(cls), []
    for name in names:
        try:
            fields.append((name, _typed(hints.get(name), (*inside, cls))))
        except JobDefinitionError as error:
            raise JobDefinitionError(f"field {cls.__qualname__}.{name}: {error}") from None
    return RowType.of(*fields)


_ARRAYS = {
    "BooleanArray": "BOOLEAN",
    "Int8Array": "TINYINT",
    "Int16Array": "SMALLINT",
    "Int32Array": "INT",
    "Int64Array": "BIGINT",
    "FloatArray": "FLOAT",
    "DoubleArray": "DOUBLE",
    "StringArray": "STRING",
    "LargeStringArray": "STRING",
    "BinaryArray": "BYTES",
    "LargeBinaryArray": "BYTES",
    "Date32Array": "DATE",
}
"""Types of the values of Arrow's array classes, as far as the class determines them."""


def _of_array_class(cls: type) -> LogicalType | None:
    """The type of an Arrow array class, such as ``pyarrow.Int64Array``, or of a NumPy number."""
    if cls.__module__.partition(".")[0] == "pyarrow" and cls.__name__ in _ARRAYS:
        return parse_type(_ARRAYS[cls.__name__])
    if cls.__module__ == "numpy":
        import pyarrow as pa

        try:
            return logical_type_of(pa.from_numpy_dtype(cls))
        except (TypeError, pa.ArrowException):
            return None
    return None


def _is_column(hint: Any) -> bool:
    """Whether the hint is an argument of a vectorised function: a Series, a DataFrame, or an
    Arrow array."""
    module = getattr(hint, "__module__", "").partition(".")[0]
    return module in ("pandas", "pyarrow") and isinstance(hint, type)


def _refusal(hint: Any) -> JobDefinitionError:
    if _is_column(hint):
        return JobDefinitionError(
            f"the type hint {_shown(hint)} lacks the type of its elements: write "
            f"Annotated[{_shown(hint)}, int], or declare the type"
        )
    return JobDefinitionError(
        f"the type hint {_shown(hint)} has no column type: use int, float, bool, str, "
        "bytes, Decimal, date, time, datetime, timedelta, list, dict and tuple with the "
        "types of their elements, a dataclass, a NamedTuple, or Annotated[..., "
        '"TIMESTAMP_LTZ(3)"]'
    )


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else str(hint).replace("typing.", "")
