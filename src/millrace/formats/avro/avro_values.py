"""Conversion of raw Avro values to Python values, and back (Avro specification, "Logical Types").

Values of logical types are Flink's: timestamps are datetimes in UTC without a zone, decimals
``Decimal``, enums and UUIDs texts.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from operator import index
from typing import Any
from uuid import UUID

from millrace.common.types.row import Row, named_row
from millrace.formats.avro.avro_type import AvroType
from millrace.formats.records import field_values
from millrace.formats.single_precision import single_precision

__all__ = ["Convert", "decimal_of", "read_conversion", "write_conversion"]

Convert = Callable[[Any], Any]
"""Conversion of a value that is not None."""

_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
_EXACT = Context(prec=100)
_MAX_DECIMAL_BYTES = 32
"""Largest size in bytes of a decimal, twice the size of 38 digits; a number of megabytes would keep
Python busy for hours."""


def read_conversion(kind: AvroType, record_type: type[Any] = Row) -> Convert | None:
    """Conversion of values that fastavro reads without logical types to the program's values; None
    if they are equal.

    Args:
        record_type: ``Row`` or ``dict``, for records.
    """
    if kind.logical:
        return _READ[kind.logical](kind)
    if kind.kind == "record":
        return _record_reader(kind, record_type)
    if kind.element is not None:
        element_conversion = read_conversion(kind.element, record_type)
        if element_conversion is None:
            return None
        convert = unless_none(element_conversion)
        if kind.kind == "array":
            return lambda items: list(map(convert, items))
        return lambda entries: {key: convert(item) for key, item in entries.items()}
    return None


def _record_reader(kind: AvroType, record_type: type[Any]) -> Convert | None:
    conversions = [read_conversion(entry.type, record_type) for entry in kind.fields]
    converted = [
        (place, unless_none(convert))
        for place, convert in enumerate(conversions)
        if convert is not None
    ]
    names = tuple(entry.name for entry in kind.fields)
    if record_type is dict:
        if not converted:
            return None
        named = [(names[place], convert) for place, convert in converted]

        def read_dict(fields: dict[str, Any]) -> dict[str, Any]:
            for name, convert in named:
                fields[name] = convert(fields[name])
            return fields

        return read_dict

    def read_row(fields: dict[str, Any]) -> Row:
        # by name: fields that the writer does not have stand behind the others
        row = named_row(names, map(fields.__getitem__, names))
        for place, convert in converted:
            row._values[place] = convert(row._values[place])
        return row

    return read_row


def unless_none(convert: Convert) -> Convert:
    """The same conversion, but None stays None."""
    return lambda value: None if value is None else convert(value)


def decimal_of(unscaled: bytes, scale: int) -> Decimal:
    """Decimal from the big-endian two's complement of its unscaled value.

    >>> decimal_of(b"\\x00\\x96", 2)
    Decimal('1.50')

    Raises:
        ValueError: the value has more digits than any type of Flink.
    """
    if len(unscaled) > _MAX_DECIMAL_BYTES:
        raise ValueError(f"a decimal of {len(unscaled)} bytes")
    return Decimal(int.from_bytes(unscaled, "big", signed=True)).scaleb(-scale, _EXACT)


def _timestamp_reader(unit: int) -> Convert:
    return lambda count: _EPOCH + timedelta(microseconds=count * unit)


def _time_reader(unit: int) -> Convert:
    def read(count: int) -> time:
        seconds, micros = divmod(count * unit, 1_000_000)
        if not 0 <= seconds < 86_400:
            raise ValueError(f"{count} is not a time of day")
        return time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros)

    return read


_READ: dict[str, Callable[[AvroType], Convert | None]] = {
    "date": lambda kind: lambda days: date.fromordinal(_EPOCH_DAY + days),
    "time-millis": lambda kind: _time_reader(1000),
    "time-micros": lambda kind: _time_reader(1),
    "timestamp-millis": lambda kind: _timestamp_reader(1000),
    "timestamp-micros": lambda kind: _timestamp_reader(1),
    "local-timestamp-millis": lambda kind: _timestamp_reader(1000),
    "local-timestamp-micros": lambda kind: _timestamp_reader(1),
    "decimal": lambda kind: lambda unscaled: decimal_of(unscaled, kind.scale),
    "uuid": lambda kind: None,
}


def write_conversion(kind: AvroType) -> Convert:
    """Conversion of the program's values to values that fastavro writes without logical types.

    The conversion raises TypeError, ValueError, ArithmeticError, LookupError or SerializationError
    for a value that is not of the type.
    """
    convert = _writer_of_values(kind)
    if kind.nullable:
        return unless_none(convert)

    def write(value: Any) -> Any:
        if value is None and kind.kind != "null":
            raise ValueError("None, but the schema does not allow null")
        return convert(value)

    return write


def _writer_of_values(kind: AvroType) -> Convert:
    if kind.logical:
        return _WRITE[kind.logical](kind)
    if kind.kind == "record":
        return _record_writer(kind)
    if kind.element is not None:
        write_element = write_conversion(kind.element)
        if kind.kind == "array":
            return lambda items: list(map(write_element, items))
        # Arrow gives maps as pairs
        return lambda entries: {
            str(key): write_element(item) for key, item in dict(entries).items()
        }
    if kind.kind == "fixed":
        return _fixed_writer(kind.size)
    if kind.kind == "enum":
        return _enum_writer(kind.symbols)
    if kind.kind == "union":
        return _union_writer({branch.kind for branch in kind.branches if not branch.logical})
    return _PLAIN.get(kind.kind, _same)


def _record_writer(kind: AvroType) -> Convert:
    names = tuple(entry.name for entry in kind.fields)
    writers = [write_conversion(entry.type) for entry in kind.fields]

    def write(record: Any) -> dict[str, Any]:
        values = field_values(names, record)
        written = {}
        for name, convert, value in zip(names, writers, values, strict=True):
            try:
                written[name] = convert(value)
            except (TypeError, ValueError, ArithmeticError, LookupError) as error:
                raise ValueError(f"field {name!r}: {error}") from None
        return written

    return write


def _same(value: Any) -> Any:
    return value.as_dict(True) if isinstance(value, Row) else value


def _union_writer(kinds: set[str]) -> Convert:
    """Conversion that names the union branch for integers. By itself, fastavro takes the first
    branch that fits, and a float or double would lose digits. Values that are too large for a
    float are refused."""
    if not kinds & {"float", "double"}:
        return _same
    only_single = "double" not in kinds
    sizes = [(name, bits) for name, bits in (("int", 31), ("long", 63)) if name in kinds]

    def write(value: Any) -> Any:
        if type(value) is int:
            for name, bits in sizes:
                if -1 << bits <= value < 1 << bits:
                    return name, value
        elif only_single and type(value) is float:
            return single_precision(value)
        return _same(value)

    return write


def _whole(bits: int) -> Convert:
    limit = 1 << (bits - 1)

    def write(value: Any) -> int:
        number = index(value)
        if not -limit <= number < limit:
            raise ValueError(f"{value} is not a whole number of {bits} bits")
        return number

    return write


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not a boolean")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


_PLAIN: dict[str, Convert] = {
    "boolean": _boolean,
    "int": _whole(32),
    "long": _whole(64),
    "float": single_precision,
    "double": float,
    "bytes": lambda value: bytes(memoryview(value)),
    "string": _text,
}


def _fixed_writer(size: int) -> Convert:
    def write(value: Any) -> bytes:
        raw = bytes(memoryview(value))
        if len(raw) != size:
            raise ValueError(f"{len(raw)} bytes, but the schema requires {size}")
        return raw

    return write


def _enum_writer(symbols: tuple[str, ...]) -> Convert:
    known = frozenset(symbols)

    def write(value: Any) -> str:
        name = value if isinstance(value, str) else getattr(value, "name", value)
        if name not in known:
            raise ValueError(f"{value!r} is not one of {', '.join(symbols)}")
        return str(name)

    return write


def _decimal_writer(kind: AvroType) -> Convert:
    def write(value: Any) -> bytes:
        shifted = Decimal(value).scaleb(kind.scale, _EXACT)
        unscaled = int(shifted)
        if unscaled != shifted or abs(unscaled) >= 10**kind.precision:
            raise ValueError(f"{value} is no decimal({kind.precision}, {kind.scale})")
        size = kind.size or (unscaled.bit_length() + 8) // 8
        return unscaled.to_bytes(size, "big", signed=True)

    return write


def _timestamp_writer(unit: int) -> Convert:
    def write(value: Any) -> int:
        if isinstance(value, int):
            return value
        if not isinstance(value, datetime):
            value = value.to_datetime()  # an Instant
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return int((value - _EPOCH) // _MICROSECOND // unit)

    return write


def _date_days(value: Any) -> int:
    return value if isinstance(value, int) else int(value.toordinal() - _EPOCH_DAY)


def _time_writer(unit: int) -> Convert:
    def write(value: time) -> int:
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return (seconds * 1_000_000 + value.microsecond) // unit

    return write


_WRITE: dict[str, Callable[[AvroType], Convert]] = {
    "date": lambda kind: _date_days,
    "time-millis": lambda kind: _time_writer(1000),
    "time-micros": lambda kind: _time_writer(1),
    "timestamp-millis": lambda kind: _timestamp_writer(1000),
    "timestamp-micros": lambda kind: _timestamp_writer(1),
    "local-timestamp-millis": lambda kind: _timestamp_writer(1000),
    "local-timestamp-micros": lambda kind: _timestamp_writer(1),
    "decimal": _decimal_writer,
    "uuid": lambda kind: lambda value: str(value) if isinstance(value, UUID) else _text(value),
}
