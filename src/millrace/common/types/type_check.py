"""Checks of values against their declared type: a whole batch at a time, and fast if all fit.

What is checked is what a column of the type can hold. Numbers are in the range of their type (LONG:
64 bits; BIG_INT has none), a bool counts as a number as it does in Python, NumPy's scalars as what
they hold, and None is of every type. Of a list, set, array or map the first 100 elements are
looked at. Fields come from a row, tuple, list or dict alike, as PyFlink takes them.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import singledispatch
from itertools import chain, islice
from typing import Any

from millrace.common.errors import SerializationError
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
from millrace.common.types.record_fields import positions
from millrace.common.types.row import Row
from millrace.common.types.serialized_type import SerializedTypeInfo
from millrace.common.types.type_information import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
    TypeInformation,
)

__all__ = ["BatchCheck", "batch_check", "mismatch"]

BatchCheck = Callable[[Sequence[Any]], bool]
"""Whether all of the values are of the type."""

ELEMENTS = 100
"""Number of elements of a list, set, array or map that are checked."""

CHUNK = 500
"""Number of records that are turned into columns together."""

NONE = type(None)
_FORMATS = {"BYTE": "b", "SHORT": "h", "INT": "i", "LONG": "q"}


@singledispatch
def batch_check(type_info: TypeInformation[Any]) -> BatchCheck | None:
    """The function that checks whether all values of a batch have the type; None if every value has
    it.

    Example:
        >>> from millrace.common.types.typeinfo import Types
        >>> check = batch_check(Types.LONG())
        >>> check([1, None]), check([1, "2"]), check([2**63])
        (True, False, False)
    """
    return _each(type_info.accepts)


def _each(accepts: Callable[[Any], bool]) -> BatchCheck:
    return lambda values: all(value is None or accepts(value) for value in values)


def _of_classes(kinds: Iterable[type], accepts: Callable[[Any], bool]) -> BatchCheck:
    """Check for values that mostly have these classes; ``accepts`` is called only if a batch has
    values of other classes."""
    expected, all_accepted = frozenset((*kinds, NONE)), _each(accepts)
    return lambda values: expected.issuperset(map(type, values)) or all_accepted(values)


@batch_check.register
def _basic(type_info: BasicTypeInfo) -> BatchCheck:
    code, accepts = _FORMATS.get(type_info.label), type_info.accepts
    if code is None:
        return _of_classes(type_info.python_types, accepts)
    all_accepted, pack = _each(accepts), struct.pack

    def numbers(values: Sequence[Any]) -> bool:
        # packing looks at class and range in C, five times as fast as anything in Python
        try:
            pack(f"{len(values)}{code}", *values)
        except (struct.error, OverflowError, TypeError):
            return all_accepted(values)
        return True

    return numbers


@batch_check.register
def _external(type_info: ExternalTypeInfo) -> BatchCheck | None:
    return batch_check(type_info.type_info)


@batch_check.register(PickledBytesTypeInfo)
@batch_check.register(SerializedTypeInfo)
def _anything(type_info: TypeInformation[Any]) -> None:
    return None


@batch_check.register
def _enum(type_info: EnumTypeInfo) -> BatchCheck:
    return _of_classes((type_info.cls,), type_info.accepts)


@batch_check.register
def _union(type_info: UnionTypeInfo) -> BatchCheck | None:
    checks = [batch_check(member) for member in type_info.types]
    if None in checks:
        return None
    return _each(lambda value: any(check is None or check((value,)) for check in checks))


@batch_check.register
def _list(type_info: ListTypeInfo) -> BatchCheck:
    return _elements((list, tuple), batch_check(type_info.element_type))


@batch_check.register
def _array(type_info: ArrayTypeInfo) -> BatchCheck:
    check = _elements((list, tuple, array), batch_check(type_info.element_type))
    if not type_info.is_bytes:
        return lambda values: check([_plain_array(value) for value in values])
    data = frozenset((bytes, NONE))
    return lambda values: (
        data.issuperset(map(type, values))
        or check(
            [list(value) if isinstance(value, (bytes, bytearray)) else value for value in values]
        )
    )


def _plain_array(value: Any) -> Any:
    """A list of the values in a NumPy array."""
    is_numpy = type(value).__module__ == "numpy" and hasattr(value, "tolist")
    return value.tolist() if is_numpy else value


@batch_check.register
def _set(type_info: SetTypeInfo) -> BatchCheck:
    return _elements((set, frozenset), batch_check(type_info.element_type))


@batch_check.register
def _variadic(type_info: VariadicTupleTypeInfo) -> BatchCheck:
    return _elements((tuple, list), batch_check(type_info.element_type))


def _elements(kinds: tuple[type, ...], element: BatchCheck | None) -> BatchCheck:
    def check(values: Sequence[Any]) -> bool:
        present = [value for value in values if value is not None]
        if not all(isinstance(value, kinds) for value in present):
            return False
        return element is None or element(_first(present))

    return check


def _first(containers: Iterable[Collection[Any]]) -> list[Any]:
    return list(chain.from_iterable(islice(container, ELEMENTS) for container in containers))


@batch_check.register
def _map(type_info: MapTypeInfo) -> BatchCheck:
    key, item = batch_check(type_info.key_type), batch_check(type_info.value_type)

    def check(values: Sequence[Any]) -> bool:
        present = [value for value in values if value is not None]
        if not all(isinstance(value, Mapping) for value in present):
            return False
        keys_fit = key is None or key(_first(present))
        return keys_fit and (item is None or item(_first([value.values() for value in present])))

    return check


@batch_check.register
def _tuple(type_info: TupleTypeInfo) -> BatchCheck:
    def fields_of(value: Any) -> Any:
        return value if isinstance(value, _FIELDS) else None

    return _fields(type_info.types, tuple, _themselves, fields_of)


_FIELDS = (tuple, list, Row)


def _themselves(values: Sequence[Any]) -> Sequence[Any]:
    return values


@batch_check.register
def _row(type_info: RowTypeInfo) -> BatchCheck:
    def fields_of(value: Any) -> Any:
        try:
            return type_info.values_of(value)
        except SerializationError:
            return None

    return _fields(type_info.types, Row, lambda rows: [row._values for row in rows], fields_of)


@batch_check.register
def _class(type_info: ClassTypeInfo) -> BatchCheck:
    cls, names = type_info.cls, type_info.field_names

    def fields_of(value: Any) -> Any:
        return [getattr(value, name) for name in names] if type(value) is cls else None

    if type_info.is_named_tuple:
        return _fields(type_info.types, cls, _themselves, fields_of)
    return _fields(type_info.types, cls, lambda values: list(map(fields_of, values)), fields_of)


def _fields(
    types: Sequence[TypeInformation[Any]],
    cls: type,
    all_fields: Callable[[Sequence[Any]], Sequence[Any]],
    fields_of: Callable[[Any], Any],
) -> BatchCheck:
    """Check of records column by column. ``all_fields`` gives the fields of values that are all
    of the class; ``fields_of`` those of any value, None if it has none."""
    only, width = {cls}, len(types)
    checks = [(index, fits) for index, fits in enumerate(map(batch_check, types)) if fits]

    def fits_chunk(values: Sequence[Any]) -> bool:
        if only.issuperset(map(type, values)):
            fields_per_value = all_fields(values)
        else:
            fields_per_value = [fields_of(value) for value in values if value is not None]
            if None in fields_per_value:
                return False
        try:
            columns = list(zip(*fields_per_value, strict=True))
        except ValueError:  # they are not all of one length
            return False
        if len(columns) != width:
            return not fields_per_value or (not width and not any(map(len, fields_per_value)))
        return all(fits(columns[index]) for index, fits in checks)

    def check(values: Sequence[Any]) -> bool:
        # turned into columns while they are in the processor's cache
        chunks = range(0, len(values), CHUNK)
        return all(fits_chunk(values[start : start + CHUNK]) for start in chunks)

    return check


def mismatch(type_info: TypeInformation[Any], value: Any) -> str | None:
    """Description of the part of a value that does not have its declared type; None if the whole
    value fits.

    Example:
        >>> from millrace.common.types.typeinfo import Types
        >>> mismatch(Types.TUPLE([Types.STRING(), Types.LONG()]), ("a", "7"))
        "field f1 is '7' (str), not LONG"
        >>> mismatch(Types.INT(), 2**31)
        'it is 2147483648, not within -2147483648 to 2147483647 of INT'
    """
    check = batch_check(type_info)
    if check is None or check((value,)):
        return None
    path, part, wanted = _innermost("", value, type_info)
    return f"{f'field {path}' if path else 'it'} is {_told(part, wanted)}"


def _told(part: Any, wanted: TypeInformation[Any]) -> str:
    bounds = getattr(wanted.logical_type, "bounds", None)
    if bounds is not None and isinstance(part, int):
        low, high = bounds()
        return f"{part!r}, not within {low} to {high} of {wanted.name}"
    if isinstance(wanted, (TupleTypeInfo, RowTypeInfo)) and isinstance(part, _FIELDS):
        return f"{part!r}, with {len(part)} fields, not {len(wanted.types)} as {wanted.name} has"
    return f"{part!r} ({type(part).__name__}), not {wanted.name}"


def _innermost(
    path: str, value: Any, type_info: TypeInformation[Any]
) -> tuple[str, Any, TypeInformation[Any]]:
    """The wrong part: its path, the part, and its type."""
    if isinstance(type_info, ExternalTypeInfo):
        return _innermost(path, value, type_info.type_info)
    for name, part, kind in _parts(type_info, value):
        check = batch_check(kind)
        if check is not None and not check((part,)):
            step = name if not path or name.startswith("[") else f".{name}"
            return _innermost(path + step, part, kind)
    return path, value, type_info


def _parts(
    type_info: TypeInformation[Any], value: Any
) -> Iterable[tuple[str, Any, TypeInformation[Any]]]:
    """Parts of a value with their types; none where the value itself is of a wrong class."""
    if isinstance(type_info, (ListTypeInfo, SetTypeInfo, VariadicTupleTypeInfo)):
        if isinstance(value, (list, tuple, set, frozenset, array)):
            for index, element in enumerate(islice(value, ELEMENTS)):
                yield f"[{index}]", element, type_info.element_type
    elif isinstance(type_info, MapTypeInfo) and isinstance(value, Mapping):
        for key, item in islice(value.items(), ELEMENTS):
            yield f"[key {key!r}]", key, type_info.key_type
            yield f"[{key!r}]", item, type_info.value_type
    elif isinstance(type_info, TupleTypeInfo) and isinstance(value, _FIELDS):
        yield from _named(positions(len(type_info.types)), value, type_info.types)
    elif isinstance(type_info, RowTypeInfo) and isinstance(value, (*_FIELDS, Mapping)):
        yield from _named(type_info.get_field_names(), type_info.values_of(value), type_info.types)
    elif isinstance(type_info, ClassTypeInfo) and type(value) is type_info.cls:
        values = [getattr(value, name) for name in type_info.field_names]
        yield from _named(type_info.field_names, values, type_info.types)


def _named(
    names: Sequence[str], values: Any, types: Sequence[TypeInformation[Any]]
) -> Iterable[tuple[str, Any, TypeInformation[Any]]]:
    if len(names) == len(values):
        yield from zip(names, values, types, strict=True)
