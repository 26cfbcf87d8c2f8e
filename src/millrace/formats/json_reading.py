"""Readers of single JSON fields, as in Flink's ``JsonToRowDataConverters``.

A number may be in quotes, and a text may be a number, an object or an array. Fractions of numbers
are cut off for INT, and all but ``true`` is false for BOOLEAN.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.row import Row
from millrace.common.types.type_information import BasicTypeInfo, TypeInformation
from millrace.common.types.value_types import BigDecTypeInfo
from millrace.expressions.json_document import well_formed
from millrace.formats.json_fields import TIMES, without_utc
from millrace.formats.json_tokens import FractionNumber, tree_text
from millrace.formats.number_text import (
    decimal_number,
    floating_number,
    whole_number,
    whole_number_of,
)
from millrace.formats.scalar_text import BITS, is_bytes, scalar_text

__all__ = [
    "BLANKS",
    "READING_ERRORS",
    "Read",
    "field_reader",
    "nullable",
    "number_reader",
    "or_none",
    "row_reader",
]

Read = Callable[[Any], Any]
READING_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)
"""Errors that readers raise for a value that is not of their type."""
BLANKS = "".join(map(chr, range(33)))
"""Characters that Java's ``trim`` removes."""


class FieldReaders:
    """Makes readers of the fields of a row type.

    Args:
        strict: whether missing fields are refused.
        lenient: whether fields that cannot be read become None.
        has_decimals: whether the row type has a decimal.
    """

    def __init__(self, strict: bool, lenient: bool, has_decimals: bool) -> None:
        self._strict, self._lenient, self._has_decimals = strict, lenient, has_decimals

    def nullable(self, kind: TypeInformation[Any]) -> Read:
        """Reader of values of a type, or null."""
        read = self.values(kind)
        return nullable(or_none(read) if self._lenient else read)

    def values(self, kind: TypeInformation[Any]) -> Read:
        """Reader of non-null values of a type."""
        if isinstance(kind, RowTypeInfo):
            return self._rows(kind)
        if isinstance(kind, TupleTypeInfo):
            readers = list(map(self.nullable, kind.types))
            return lambda value: tuple(r(i) for r, i in zip(readers, _list(value), strict=True))
        if isinstance(kind, MapTypeInfo):
            key, item = scalar_text(kind.key_type).read, self.nullable(kind.value_type)
            return lambda value: {key(well_formed(k)): item(v) for k, v in _dict(value).items()}
        if isinstance(kind, ListTypeInfo) and not is_bytes(kind):
            element = self.nullable(kind.element_type)
            return lambda value: list(map(element, _list(value)))
        return self._scalars(kind)

    def _rows(self, kind: RowTypeInfo) -> Read:
        names, strict = kind.get_field_names(), self._strict
        readers = list(map(self.nullable, kind.types))

        def read(value: Any) -> Row:
            fields = _dict(value)
            if strict:
                for name in names:
                    if name not in fields:
                        raise LookupError(f"field {name!r} is missing")
            row = Row(*[r(fields.get(name)) for r, name in zip(readers, names, strict=True)])
            row.set_field_names(names)
            return row

        return read

    def _scalars(self, kind: TypeInformation[Any]) -> Read:
        if isinstance(kind, BasicTypeInfo) and kind.label == "STRING":
            has_decimals = self._has_decimals
            return lambda value: _text(value, has_decimals)
        number = number_reader(kind)
        if number is not None:
            return number
        read = scalar_text(kind).read
        if isinstance(kind, TIMES):
            return lambda value: read(without_utc(_token(value)))
        return lambda value: read(_token(value))


def number_reader(kind: TypeInformation[Any]) -> Read | None:
    """Reader of numbers and booleans, also from text; None for other types."""
    label = kind.label if isinstance(kind, BasicTypeInfo) else ""
    if label in BITS:
        return _whole_reader(BITS[label])
    return _decimal if isinstance(kind, BigDecTypeInfo) else _READERS.get(label)


def row_reader(kind: RowTypeInfo, strict: bool = False, lenient: bool = False) -> Read:
    """Reader of an object as a row; see `FieldReaders`."""
    return FieldReaders(strict, lenient, _has_decimals(kind)).values(kind)


def field_reader(row_type: RowTypeInfo, kind: TypeInformation[Any], strict: bool) -> Read:
    """Reader of one field of a row type."""
    return FieldReaders(strict, False, _has_decimals(row_type)).nullable(kind)


def nullable(read: Read) -> Read:
    """The same reader, extended to read null."""
    return lambda value: None if value is None else read(value)


def or_none(read: Read) -> Read:
    """The same reader, but it returns None for values that are not of its type."""

    def lenient(value: Any) -> Any:
        try:
            return read(value)
        except READING_ERRORS:
            return None

    return lenient


def _has_decimals(kind: TypeInformation[Any]) -> bool:
    if isinstance(kind, (RowTypeInfo, TupleTypeInfo)):
        return any(map(_has_decimals, kind.types))
    if isinstance(kind, MapTypeInfo):
        return _has_decimals(kind.value_type)
    if isinstance(kind, ListTypeInfo) and not is_bytes(kind):
        return _has_decimals(kind.element_type)
    return isinstance(kind, BigDecTypeInfo)


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{_named(value)} is not an object")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{_named(value)} is not an array")
    return value


def _named(value: Any) -> str:
    """Description of the value: deeply nested values have no ``repr``."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    return repr(_token(value))[:200]


def _token(value: Any) -> str:
    """Text of a scalar value, without quotes."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (dict, list)):
        raise TypeError(f"{_named(value)} is not a scalar")
    return "true" if value else "false"


def _text(value: Any, has_decimals: bool) -> str:
    if isinstance(value, (dict, list)):
        return tree_text(value, has_decimals)
    return well_formed(_token(value))


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else _token(value).strip(BLANKS).lower() == "true"


def _whole_reader(bits: int) -> Read:
    """Reader of whole numbers; a number beyond the type's range is refused, since a column could
    not hold it."""
    most = 2 ** (bits - 1)

    def read(value: Any) -> int:
        if isinstance(value, str):
            try:
                number = int(value)
            except ValueError:
                return careful(value)
            # Python takes 1_000 and the digits of all scripts
            if -most <= number < most and "_" not in value and value.isascii():
                return number
        return careful(value)

    def careful(value: Any) -> int:
        if isinstance(value, FractionNumber):
            # as the double that Java makes of it, so its exponent cannot be too great
            number = float(value)
            if not -most <= number <= most - (bits < 64):
                raise OverflowError(f"{value[:100]} does not fit into {bits} bits")
            truncated = int(number)
            return truncated if truncated < most else most - 1
        return whole_number_of(_token(value).strip(BLANKS), bits)

    return read


def _integer(value: Any) -> int:
    return whole_number(_token(value).strip(BLANKS))


def _float(value: Any) -> float:
    return floating_number(_token(value).strip(BLANKS))


def _decimal(value: Any) -> Decimal:
    if not isinstance(value, str):
        raise TypeError(f"{_named(value)} is not a number")
    return decimal_number(value)


_READERS: dict[str, Read] = {
    "BOOLEAN": _boolean,
    "BIG_INT": _integer,
    "FLOAT": _float,
    "DOUBLE": _float,
}
