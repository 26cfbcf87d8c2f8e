"""`caster`: converts values of one type to another."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.bitmap_values import canonical_bitmap
from millrace.expressions.casting.from_text import parser_of
from millrace.expressions.casting.numbers import cast_number
from millrace.expressions.casting.text_of import text_of, trimmed_or_padded
from millrace.expressions.columns import Datum, array_of, conformed, is_scalar, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionResolutionError
from millrace.expressions.functions.lists import entries
from millrace.expressions.parameters import BYTES, CHARACTERS, TIMESTAMPS
from millrace.expressions.session_settings import SessionSettings

__all__ = ["cast_may_fail", "caster", "is_castable"]

Caster = Callable[[Datum], Datum]
_NUMBERS = (logical.IntegralType, logical.DecimalType, logical.FloatType, logical.DoubleType)
_TIMES = (*TIMESTAMPS, logical.DateType, logical.TimeType)
_INTERVALS = (logical.YearMonthIntervalType, logical.DayTimeIntervalType)
_LONGEST: dict[type[LogicalType], int] = {
    logical.BooleanType: 5,
    logical.TinyIntType: 4,
    logical.SmallIntType: 6,
    logical.IntType: 11,
    logical.BigIntType: 20,
}


def is_castable(source: LogicalType, target: LogicalType) -> bool:
    """Whether CAST supports a pair of types.

    >>> is_castable(logical.VarCharType(), logical.IntType())
    True
    >>> is_castable(logical.TimestampType(), logical.BigIntType())
    False
    """
    if isinstance(source, logical.NullType) or source.not_null() == target.not_null():
        return True
    if isinstance(target, CHARACTERS):
        return not isinstance(source, logical.RawType)
    if isinstance(source, logical.BitmapType):  # bytes that are cut hold no bitmap
        return isinstance(target, logical.VarBinaryType) and target.length == logical.MAX_LENGTH
    for sources, targets in _CASTS:
        if isinstance(source, sources) and isinstance(target, targets):
            return True
    if isinstance(source, logical.RowType) and isinstance(target, logical.RowType):
        return len(source) == len(target) and _all_castable(source, target)
    same = type(source) is type(target)
    return same and bool(source.children()) and _all_castable(source, target)


_CASTS: tuple[tuple[tuple[type[LogicalType], ...], tuple[type[LogicalType], ...]], ...] = (
    (CHARACTERS, (logical.BooleanType, *_NUMBERS, *_TIMES, *BYTES)),
    ((logical.BooleanType,), _NUMBERS),
    (_NUMBERS, _NUMBERS),
    (_NUMBERS, (logical.BooleanType,)),
    (BYTES, BYTES),
    ((logical.DateType,), TIMESTAMPS),
    ((logical.TimeType,), (logical.TimeType, *TIMESTAMPS)),
    (TIMESTAMPS, _TIMES),
    ((logical.YearMonthIntervalType,), (logical.YearMonthIntervalType, logical.IntegralType)),
    ((logical.DayTimeIntervalType,), (logical.DayTimeIntervalType,)),
    ((logical.RawType,), BYTES),
    ((logical.VarBinaryType, logical.BinaryType), (logical.BitmapType,)),
)


def _all_castable(source: LogicalType, target: LogicalType) -> bool:
    return all(map(is_castable, source.children(), target.children()))


def cast_may_fail(source: LogicalType, target: LogicalType) -> bool:
    """Whether some values of a type cannot be cast to another."""
    if isinstance(source, CHARACTERS):
        return not isinstance(target, (*CHARACTERS, *BYTES))
    if isinstance(target, logical.BitmapType):
        return isinstance(source, BYTES)
    return bool(source.children()) and any(map(cast_may_fail, source.children(), target.children()))


def caster(
    source: LogicalType, target: LogicalType, session: SessionSettings, safe: bool = False
) -> Caster:
    """A kernel that casts a column to a type.

    Args:
        source: type of the values.
        target: type that is made.
        session: its time zone decides about TIMESTAMP_LTZ.
        safe: whether values that cannot be cast become NULL (TRY_CAST).

    Raises:
        FunctionResolutionError: the cast is not supported.
    """
    if not is_castable(source, target):
        raise FunctionResolutionError(
            f"{source} cannot be cast to {target}{_advice(source, target)}"
        )
    arrow = arrow_type(target)
    if isinstance(source, logical.NullType):
        return lambda datum: conformed(datum, arrow)
    if isinstance(target, CHARACTERS):
        return _to_text(source, target, session)
    if isinstance(source, CHARACTERS):
        return _from_text(target, arrow, session, safe or session.legacy_cast)
    for matches, make in _SCALAR_CASTS:
        if matches(source, target):
            made: Caster = make(source, target, arrow, session)
            fails = _to_nanoseconds(source, target) or isinstance(target, logical.BitmapType)
            return _tried(made, arrow) if safe and fails else made
    if target.children() and source.children():
        strict = _nested(source, target, arrow, session)
        return _tried(strict, arrow) if safe and cast_may_fail(source, target) else strict
    return lambda datum: conformed(datum, arrow)


def _advice(source: LogicalType, target: LogicalType) -> str:
    if isinstance(source, TIMESTAMPS) and isinstance(target, _NUMBERS):
        return "; use UNIX_TIMESTAMP(CAST(x AS STRING))"
    if isinstance(source, _NUMBERS) and isinstance(target, TIMESTAMPS):
        return "; use TO_TIMESTAMP_LTZ(x, 3), or TO_TIMESTAMP(FROM_UNIXTIME(x))"
    return ""


def _to_text(source: LogicalType, target: LogicalType, session: SessionSettings) -> Caster:
    render = text_of(source, session.time_zone)
    fits = (
        getattr(source, "length", None)
        if isinstance(source, CHARACTERS)
        else _LONGEST.get(type(source))
    )
    return lambda datum: trimmed_or_padded(render(datum), target, fits)


def _from_text(target: LogicalType, arrow: Any, session: SessionSettings, safe: bool) -> Caster:
    if isinstance(target, BYTES):
        return lambda datum: _bytes(datum.cast(pa.binary()), target, arrow)
    if isinstance(target, logical.LocalZonedTimestampType):
        wall = logical.TimestampType(target.precision)
        parse = _from_text(wall, pa.timestamp(target.unit), session, safe)
        return lambda datum: zoned(parse(datum), session.time_zone, arrow)
    parse_one = parser_of(target)
    assert parse_one is not None

    def parsed(text: str) -> Any:
        try:
            return parse_one(text)
        except ValueError as error:
            if safe:
                return None
            raise EvaluationError(f"{text!r} cannot be cast to {target.text()}: {error}") from None

    if isinstance(target, logical.IntegralType):
        return lambda datum: _integers(datum, arrow, parsed)
    return lambda datum: per_value(parsed, arrow, datum)


def _integers(datum: Datum, arrow: Any, parsed: Callable[[str], Any]) -> Datum:
    """Integers of texts. Arrow's parser is used unless a text looks hexadecimal, which Arrow
    would accept."""
    try:
        hexadecimal = pc.match_substring(datum, "x", ignore_case=True)
        if (hexadecimal if is_scalar(hexadecimal) else pc.any(hexadecimal)).as_py():
            return per_value(parsed, arrow, datum)
        return datum.cast(arrow)
    except (pa.ArrowInvalid, ValueError):
        return per_value(parsed, arrow, datum)


def zoned(datum: Datum, zone: str, arrow: Any) -> Datum:
    """Points in time for wall-clock times in a zone. Times in a gap of the clock are moved forward,
    as in Java.
    """
    if zone == "UTC":
        return datum.cast(arrow)
    made = pc.assume_timezone(datum, zone, ambiguous="earliest", nonexistent="latest")
    made = made.cast(arrow, safe=False)
    shown = wall(made, zone)
    given = datum.cast(shown.type, safe=False)
    skipped = pc.fill_null(pc.not_equal(shown, given), False)
    if not (skipped if is_scalar(skipped) else pc.any(skipped)).as_py():
        return made
    day = pa.scalar(timedelta(days=1), pa.duration(given.type.unit))
    before = pc.subtract(given, day)  # a day before the clocks have another offset
    earlier = pc.assume_timezone(before, zone, ambiguous="earliest", nonexistent="latest")
    return pc.if_else(skipped, pc.add(earlier.cast(arrow, safe=False), day), made)


def wall(datum: Datum, zone: str) -> Datum:
    """Wall-clock times in a zone, for points in time."""
    unit = datum.type.unit
    if zone == "UTC":
        return datum.cast(pa.timestamp(unit))
    return pc.local_timestamp(datum.cast(pa.timestamp(unit, zone)))


def _bytes(datum: Datum, target: LogicalType, arrow: Any) -> Datum:
    length = target.length  # type: ignore[attr-defined]
    if isinstance(target, logical.BinaryType):
        return per_value(lambda raw: raw[:length].ljust(length, b"\0"), arrow, datum)
    datum = datum.cast(pa.binary())
    return datum if length == logical.MAX_LENGTH else pc.binary_slice(datum, 0, length)


def _number(source: LogicalType, target: LogicalType, arrow: Any, session: Any) -> Caster:
    return lambda datum: cast_number(datum, source, target, arrow)


def _of_boolean(source: LogicalType, target: LogicalType, arrow: Any, session: Any) -> Caster:
    if isinstance(target, logical.DecimalType):
        return lambda datum: cast_number(datum.cast(pa.int32()), logical.IntType(), target, arrow)
    return lambda datum: datum.cast(pa.int8()).cast(arrow)


def _to_boolean(source: LogicalType, target: LogicalType, arrow: Any, session: Any) -> Caster:
    zero = pa.scalar(0).cast(pa.int8())
    return lambda datum: pc.not_equal(datum, zero)


def _to_bytes(source: LogicalType, target: LogicalType, arrow: Any, session: Any) -> Caster:
    return lambda datum: _bytes(datum, target, arrow)


def _bitmap(source: LogicalType, target: LogicalType, arrow: Any, session: Any) -> Caster:
    return lambda datum: per_value(canonical_bitmap, arrow, datum)


def _time(source: LogicalType, target: LogicalType, arrow: Any, session: SessionSettings) -> Caster:
    """Caster between dates, times of day and timestamps."""
    zone = session.time_zone
    to_zone = isinstance(target, logical.LocalZonedTimestampType)
    from_zone = isinstance(source, logical.LocalZonedTimestampType)
    digits = getattr(target, "precision", 9)
    finer = _to_nanoseconds(source, target)

    def plain(datum: Datum) -> Datum:
        if from_zone and not to_zone:
            datum = wall(datum, zone)
        if isinstance(source, logical.TimeType) and not isinstance(target, logical.TimeType):
            datum = _since_1970(datum)
        if isinstance(target, logical.DateType):
            return datum.cast(pa.date32(), safe=False)
        if isinstance(source, logical.DateType):
            datum = datum.cast(pa.timestamp("s"))
        if to_zone and not from_zone:
            datum = zoned(datum, zone, pa.timestamp(datum.type.unit, "UTC"))
        if digits % 3 and getattr(source, "precision", 0) > digits:
            datum = floored(datum, 10 ** (9 - digits))
        return _in_nanoseconds(datum, arrow) if finer else datum.cast(arrow, safe=False)

    return plain


def _to_nanoseconds(source: LogicalType, target: LogicalType) -> bool:
    """Whether the cast makes nanoseconds of a coarser unit, so that fewer years fit into 64
    bits."""
    given = getattr(source, "unit", "s")
    return isinstance(target, TIMESTAMPS) and target.unit == "ns" and given != "ns"


def _in_nanoseconds(datum: Datum, arrow: Any) -> Datum:
    try:
        return datum.cast(arrow)
    except pa.ArrowInvalid:
        raise EvaluationError(
            "timestamps with more than 6 digits of a second must be in the years 1678 to 2261, "
            "and a value is not: CAST it to at most 6 digits"
        ) from None


def _since_1970(datum: Datum) -> Datum:
    number = pa.int32() if pa.types.is_time32(datum.type) else pa.int64()
    return datum.cast(number).cast(pa.int64()).cast(pa.timestamp(datum.type.unit))


def floored(datum: Datum, nanos: int) -> Datum:
    """Times rounded down to a multiple of the given number of nanoseconds."""
    return pc.floor_temporal(datum, nanos, "nanosecond")


def _interval(source: LogicalType, target: LogicalType, arrow: Any, session: Any) -> Caster:
    return lambda datum: datum.cast(arrow, safe=False)


def _tried(cast: Caster, arrow: Any) -> Caster:
    """Variant of a caster that returns NULL for values that cannot be cast."""

    def tried(datum: Datum) -> Datum:
        if is_scalar(datum):
            return tried(array_of(datum, 1))[0]
        try:
            return cast(datum)
        except EvaluationError:
            half = len(datum) // 2
            if not half:
                return pa.nulls(len(datum), arrow)
            return pa.concat_arrays([tried(datum.slice(0, half)), tried(datum.slice(half))])

    return tried


def _nested(
    source: LogicalType, target: LogicalType, arrow: Any, session: SessionSettings
) -> Caster:
    parts = [
        caster(one, other, session)
        for one, other in zip(source.children(), target.children(), strict=True)
    ]

    merging = target.children()[0].with_nullable(True) != source.children()[0].with_nullable(True)

    def cast(datum: Datum) -> Datum:
        if is_scalar(datum):
            return cast(array_of(datum, 1))[0]
        if datum.offset:
            datum = pa.concat_arrays([datum.slice(0, 0), datum])
        validity = pc.is_null(datum) if datum.null_count else None
        if isinstance(target, logical.RowType):
            values = [part(child) for part, child in zip(parts, datum.flatten(), strict=True)]
            return pa.StructArray.from_arrays(values, fields=list(arrow), mask=validity)
        if pa.types.is_map(arrow):
            keys = parts[0](datum.keys)
            if keys.null_count:
                raise EvaluationError(
                    f"a key of {source} is not a key of {target}: it becomes NULL"
                )
            items = parts[1](datum.items) if len(parts) > 1 else datum.items
            made = pa.MapArray.from_arrays(datum.offsets, keys, items, arrow, mask=validity)
            return _each_key_once(made) if merging else made
        return pa.ListArray.from_arrays(datum.offsets, parts[0](datum.values), arrow, mask=validity)

    return cast


def _each_key_once(maps: Any) -> Any:
    """Maps with cast keys, where two keys may have become equal: the last entry is kept."""
    if not len(maps) or pc.max(
        pc.list_value_length(maps.cast(pa.list_(maps.type.field(0))))
    ).as_py() in (None, 0, 1):
        return maps
    return per_value(entries, maps.type, maps)


def _are(sources: Any, targets: Any) -> Callable[[LogicalType, LogicalType], bool]:
    return lambda source, target: isinstance(source, sources) and isinstance(target, targets)


_SCALAR_CASTS: tuple[tuple[Callable[[LogicalType, LogicalType], bool], Any], ...] = (
    (_are(_NUMBERS, _NUMBERS), _number),
    (_are(logical.BooleanType, _NUMBERS), _of_boolean),
    (_are(_NUMBERS, logical.BooleanType), _to_boolean),
    (_are((*BYTES, logical.RawType), BYTES), _to_bytes),
    (_are(BYTES, logical.BitmapType), _bitmap),
    (_are(_TIMES, _TIMES), _time),
    (_are(_INTERVALS, (*_INTERVALS, logical.IntegralType)), _interval),
)
