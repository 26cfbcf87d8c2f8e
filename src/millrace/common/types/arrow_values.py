"""Python values of a type as Arrow arrays, and back.

The type of the array is that of the logical type (`arrow_type`); which objects a program has for it
is told by the `TypeInformation`. What an array cannot hold exactly is refused, never rounded: the
values that come back are those that went in. Two types are narrower in columns than in Python:
FLOAT is rounded to four bytes, and BIG_DEC takes up to 18 digits after the point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import singledispatch
from itertools import islice
from operator import attrgetter, index, methodcaller
from typing import TYPE_CHECKING, Any
from uuid import UUID

from millrace.common.errors import SerializationError
from millrace.common.time.amounts import Instant
from millrace.common.types.class_types import ClassTypeInfo, EnumTypeInfo
from millrace.common.types.collection_types import SetTypeInfo, UnionTypeInfo, VariadicTupleTypeInfo
from millrace.common.types.composite_types import (
    ArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.external_type import ExternalTypeInfo
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.row import Row, RowKind, named_row
from millrace.common.types.serialized_type import SerializedTypeInfo
from millrace.common.types.standard_types import (
    FractionTypeInfo,
    UuidTypeInfo,
    ZonedTimestampTypeInfo,
    ZonedTimeTypeInfo,
    zone_of_text,
    zone_text,
)
from millrace.common.types.type_information import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
    TypeInformation,
)
from millrace.common.types.value_types import BigDecTypeInfo, InstantTypeInfo

if TYPE_CHECKING:
    import pyarrow

__all__ = ["RawCodec", "from_arrow", "to_arrow"]

Convert = Callable[[Any], Any]
"""Converts a value that is not None."""


@dataclass(frozen=True, slots=True)
class RawCodec:
    """Conversion of values of type RAW to bytes and back."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _refused(value: Any) -> Any:
    raise SerializationError(
        f"{value!r} has no type of its own, so it cannot be a column; declare its type"
    )


NO_CODEC = RawCodec(_refused, _refused)


def to_arrow(
    values: Sequence[Any], type_info: TypeInformation[Any], raw: RawCodec = NO_CODEC
) -> pyarrow.Array:
    """The values as an array of `arrow_type` of the type's logical type.

    Example:
        >>> from millrace.common.types.typeinfo import Types
        >>> column = to_arrow([(1, "a"), None], Types.TUPLE([Types.LONG(), Types.STRING()]))
        >>> str(column.type), column.null_count
        ('struct<f0: int64, f1: string>', 1)

    Args:
        raw: writes values of pickled and union types; without one they are refused.

    Raises:
        SerializationError: a value is not of the type; the message shows it.
    """
    import pyarrow as pa

    target = arrow_type(type_info.logical_type)
    convert = _out(type_info, raw)
    try:
        items = values if convert is None else list(map(_unless_none(convert), values))
        return pa.array(items, target)
    except _FAULTS as error:
        raise _misfit(values, type_info, convert, target, error) from error


_FAULTS = (ValueError, TypeError, OverflowError, AttributeError, LookupError, InvalidOperation)
"""Errors that pyarrow and conversions raise; Arrow's own are among these."""


def _misfit(
    values: Sequence[Any],
    type_info: TypeInformation[Any],
    convert: Convert | None,
    target: Any,
    error: Any,
) -> SerializationError:
    """Error that names the first value that does not fit."""
    import pyarrow as pa

    for position, value in enumerate(values):
        if value is None:
            continue
        try:
            pa.array([value if convert is None else convert(value)], target)
        except _FAULTS as reason:
            return SerializationError(
                f"{value!r} (position {position}) does not fit a column of "
                f"{type_info.name}, which is of type {type_info.logical_type} ({reason})"
            )
    return SerializationError(f"a column of {type_info.name} cannot be made: {error}")


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _exact(type_info: TypeInformation[Any], convert: Convert) -> Convert:
    accepts = type_info.accepts

    def exact(value: Any) -> Any:
        if not accepts(value):
            raise TypeError("of another type")
        return convert(value)

    return exact


@singledispatch
def _out(type_info: TypeInformation[Any], raw: RawCodec) -> Convert | None:
    """Converter to values that pyarrow accepts for the type; None if none is needed."""
    return _exact(type_info, lambda value: value)


@_out.register
def _basic_out(type_info: BasicTypeInfo, raw: RawCodec) -> Convert | None:
    if type_info.label == "BIG_INT":
        return Decimal
    if type_info.label == "COMPLEX":
        return lambda value: (value.real, value.imag)
    return _whole if type_info.label in _WHOLE else None


_WHOLE = frozenset({"BYTE", "SHORT", "INT", "LONG"})


def _whole(value: Any) -> int:
    # Arrow would cut off fractions without a word
    return index(value)


@_out.register
def _decimal_out(type_info: BigDecTypeInfo, raw: RawCodec) -> Convert:
    return _exact(type_info, lambda value: value)


@_out.register
def _instant_out(type_info: InstantTypeInfo, raw: RawCodec) -> Convert:
    return lambda value: value.seconds * 1_000_000_000 + value.nanos


@_out.register
def _uuid_out(type_info: UuidTypeInfo, raw: RawCodec) -> Convert:
    return attrgetter("bytes")


@_out.register
def _fraction_out(type_info: FractionTypeInfo, raw: RawCodec) -> Convert:
    return _exact(type_info, str)


@_out.register(ZonedTimestampTypeInfo)
@_out.register(ZonedTimeTypeInfo)
def _zoned_out(type_info: TypeInformation[Any], raw: RawCodec) -> Convert:
    def out(value: Any) -> Any:
        return value.replace(tzinfo=None, fold=0), zone_text(value.tzinfo), bool(value.fold)

    return out


@_out.register
def _list_out(type_info: ListTypeInfo, raw: RawCodec) -> Convert | None:
    return _elements_out(type_info.element_type, raw, list)


@_out.register
def _array_out(type_info: ArrayTypeInfo, raw: RawCodec) -> Convert | None:
    return bytes if type_info.is_bytes else _elements_out(type_info.element_type, raw, list)


@_out.register(SetTypeInfo)
@_out.register(VariadicTupleTypeInfo)
def _collection_out(type_info: Any, raw: RawCodec) -> Convert | None:
    return _elements_out(type_info.element_type, raw, list)


def _elements_out(element: TypeInformation[Any], raw: RawCodec, kind: Convert) -> Convert:
    convert = _out(element, raw)
    if convert is None:
        return kind
    convert_element = _unless_none(convert)
    return lambda values: [convert_element(value) for value in values]


@_out.register
def _map_out(type_info: MapTypeInfo, raw: RawCodec) -> Convert:
    key, value = _out(type_info.key_type, raw), _out(type_info.value_type, raw)
    if key is None and value is None:
        return methodcaller("items")
    key, convert_item = key or _same, _unless_none(value or _same)
    return lambda entries: [(key(name), convert_item(item)) for name, item in entries.items()]


def _same(value: Any) -> Any:
    return value


@_out.register
def _tuple_out(type_info: TupleTypeInfo, raw: RawCodec) -> Convert:
    return _fields_out(type_info.types, raw, _same)


@_out.register
def _row_out(type_info: RowTypeInfo, raw: RawCodec) -> Convert:
    def values(row: Any) -> Any:
        if isinstance(row, Row) and row._row_kind is not RowKind.INSERT:
            raise TypeError(
                f"a row in a column cannot have a kind of its own, {row._row_kind.name}"
            )
        return type_info.values_of(row)

    return _fields_out(type_info.types, raw, values)


@_out.register
def _class_out(type_info: ClassTypeInfo, raw: RawCodec) -> Convert:
    names = type_info.field_names

    def values(value: Any) -> Any:
        if type(value) is not type_info.cls:
            raise TypeError("of another class")
        return [getattr(value, name) for name in names]

    return _fields_out(type_info.types, raw, values)


def _fields_out(types: Sequence[TypeInformation[Any]], raw: RawCodec, values: Convert) -> Convert:
    converters = [_out(field, raw) for field in types]
    null_safe = [_same if convert is None else _unless_none(convert) for convert in converters]
    return lambda value: tuple(
        [convert(item) for convert, item in zip(null_safe, values(value), strict=True)]
    )


@_out.register
def _enum_out(type_info: EnumTypeInfo, raw: RawCodec) -> Convert:
    return lambda value: str(type_info.encode(value))


@_out.register
def _external_out(type_info: ExternalTypeInfo, raw: RawCodec) -> Convert | None:
    return _out(type_info.type_info, raw)


@_out.register
def _serialized_out(type_info: SerializedTypeInfo, raw: RawCodec) -> Convert:
    return type_info.encode


@_out.register(PickledBytesTypeInfo)
@_out.register(UnionTypeInfo)
def _raw_out(type_info: TypeInformation[Any], raw: RawCodec) -> Convert:
    return raw.encode


def from_arrow(
    array: pyarrow.Array, type_info: TypeInformation[Any], raw: RawCodec = NO_CODEC
) -> list[Any]:
    """The values of an array that `to_arrow` made.

    Raises:
        SerializationError: the array holds what is no value of the type.
    """
    if hasattr(array, "combine_chunks"):
        array = array.combine_chunks()
    try:
        return _into(type_info, array, raw)
    except _FAULTS as error:
        raise SerializationError(
            f"a column of {array.type} does not hold values of {type_info.name}: {error}"
        ) from error


@singledispatch
def _into(type_info: TypeInformation[Any], array: Any, raw: RawCodec) -> list[Any]:
    values: list[Any] = array.to_pylist()
    return values


def _each(array: Any, convert: Convert) -> list[Any]:
    return [None if value is None else convert(value) for value in array.to_pylist()]


@_into.register
def _basic_in(type_info: BasicTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    if type_info.label == "BIG_INT":
        return _each(array, int)
    if type_info.label == "COMPLEX":
        return _each(array, lambda parts: complex(parts["real"], parts["imag"]))
    values: list[Any] = array.to_pylist()
    return values


@_into.register
def _instant_in(type_info: InstantTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    # as whole numbers: Python's own times have no nanoseconds
    return _each(array.cast("int64"), lambda nanos: Instant(*divmod(nanos, 1_000_000_000)))


@_into.register
def _uuid_in(type_info: UuidTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    return _each(array, lambda data: UUID(bytes=data))


@_into.register
def _fraction_in(type_info: FractionTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    return _each(array, Fraction)


@_into.register(ZonedTimestampTypeInfo)
@_into.register(ZonedTimeTypeInfo)
def _zoned_in(type_info: TypeInformation[Any], array: Any, raw: RawCodec) -> list[Any]:
    def made(parts: Any) -> Any:
        return parts["wall"].replace(tzinfo=zone_of_text(parts["zone"]), fold=int(parts["fold"]))

    return _each(array, made)


@_into.register(ListTypeInfo)
@_into.register(SetTypeInfo)
@_into.register(VariadicTupleTypeInfo)
def _elements_in(type_info: Any, array: Any, raw: RawCodec) -> list[Any]:
    if isinstance(type_info, ArrayTypeInfo) and type_info.is_bytes:
        values: list[Any] = array.to_pylist()
        return values
    made = getattr(type_info, "kind", list) if isinstance(type_info, SetTypeInfo) else list
    if isinstance(type_info, VariadicTupleTypeInfo):
        made = tuple
    elements = iter(_into(type_info.element_type, array.flatten(), raw))
    return [None if n is None else made(islice(elements, n)) for n in _lengths(array)]


def _lengths(array: Any) -> list[int | None]:
    import pyarrow.compute as pc

    lengths: list[int | None] = pc.list_value_length(array).to_pylist()
    return lengths


@_into.register
def _map_in(type_info: MapTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    import pyarrow as pa

    # the layout of a map is that of a list of structs
    pair = pa.struct([array.type.key_field, array.type.item_field])
    pairs = array.cast(pa.list_(pa.field("entries", pair, nullable=False)))
    keys, items = pairs.flatten().flatten()
    entries = zip(
        _into(type_info.key_type, keys, raw), _into(type_info.value_type, items, raw), strict=True
    )
    return [None if n is None else dict(islice(entries, n)) for n in _lengths(pairs)]


@_into.register
def _tuple_in(type_info: TupleTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    return _present(array, _rows(type_info.types, array, raw))


@_into.register
def _row_in(type_info: RowTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    names = type_info.field_names
    rows = _rows(type_info.types, array, raw)
    return _present(array, (named_row(names, values) for values in rows))


@_into.register
def _class_in(type_info: ClassTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    rows = _rows(type_info.types, array, raw)
    return _present(array, (type_info.make(list(values)) for values in rows))


def _rows(
    types: Sequence[TypeInformation[Any]], array: Any, raw: RawCodec
) -> Iterator[tuple[Any, ...]]:
    if not types:
        return iter([()] * len(array))
    columns = [_into(field, part, raw) for field, part in zip(types, array.flatten(), strict=True)]
    return zip(*columns, strict=True)


def _present(array: Any, values: Iterable[Any]) -> list[Any]:
    if not array.null_count:
        return list(values)
    valid = array.is_valid().to_pylist()
    return [value if is_valid else None for value, is_valid in zip(values, valid, strict=True)]


@_into.register
def _enum_in(type_info: EnumTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    members = type_info.cls.__members__
    # members that are combined of others have no name: their value stands for them
    return _each(array, lambda name: members[name] if name in members else type_info.cls(int(name)))


@_into.register
def _external_in(type_info: ExternalTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    return _into(type_info.type_info, array, raw)


@_into.register
def _serialized_in(type_info: SerializedTypeInfo, array: Any, raw: RawCodec) -> list[Any]:
    return _each(array, type_info.decode)


@_into.register(PickledBytesTypeInfo)
@_into.register(UnionTypeInfo)
def _raw_in(type_info: TypeInformation[Any], array: Any, raw: RawCodec) -> list[Any]:
    return _each(array, raw.decode)
