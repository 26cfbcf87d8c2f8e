"""Types of values of Python's standard library: times with their zones, UUIDs, fractions.

They have no counterpart in PyFlink's `Types`; `Types.of` makes them of type hints.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from millrace.common.errors import SerializationError
from millrace.common.types.logical.bridged import bridged
from millrace.common.types.logical.logical_type import (
    BinaryType,
    BooleanType,
    DayTimeIntervalType,
    LogicalType,
    RowType,
    StructuredType,
    TimeType,
    VarCharType,
    ZonedTimestampType,
)
from millrace.common.types.value_types import EPOCH, MICROSECOND, ConvertedTypeInfo

__all__ = [
    "DurationTypeInfo",
    "FractionTypeInfo",
    "UuidTypeInfo",
    "ZonedTimeTypeInfo",
    "ZonedTimestampTypeInfo",
]

ZONED_TIME = StructuredType(
    RowType.of(("wall", TimeType(6)), ("zone", VarCharType()), ("fold", BooleanType())).fields,
    "datetime.time",
)
"""Flink has no time of day with a zone."""


@dataclass(frozen=True, slots=True, repr=False)
class UuidTypeInfo(ConvertedTypeInfo):
    """Type of `uuid.UUID`; its internal form is 16 bytes."""

    @property
    def name(self) -> str:
        return "UUID"

    @property
    def bridged_type(self) -> LogicalType:
        return bridged(BinaryType(16), "UUID")

    def accepts(self, value: Any) -> bool:
        return type(value) is UUID

    def encode(self, value: UUID) -> bytes:
        return value.bytes

    def decode(self, internal: bytes) -> UUID:
        return UUID(bytes=internal)


@dataclass(frozen=True, slots=True, repr=False)
class DurationTypeInfo(ConvertedTypeInfo):
    """Type of `datetime.timedelta`; its internal form is a number of microseconds."""

    @property
    def name(self) -> str:
        return "DURATION"

    @property
    def bridged_type(self) -> LogicalType:
        return DayTimeIntervalType(day_precision=6)

    def accepts(self, value: Any) -> bool:
        return type(value) is timedelta

    def encode(self, value: timedelta) -> int:
        return value // MICROSECOND

    def decode(self, internal: int) -> timedelta:
        return timedelta(microseconds=internal)


@dataclass(frozen=True, slots=True, repr=False)
class FractionTypeInfo(ConvertedTypeInfo):
    """Type of `fractions.Fraction`; its internal form is numerator and denominator."""

    @property
    def name(self) -> str:
        return "FRACTION"

    @property
    def bridged_type(self) -> LogicalType:
        return bridged(VarCharType(), "Fraction")

    def accepts(self, value: Any) -> bool:
        return type(value) is Fraction

    def encode(self, value: Fraction) -> tuple[int, int]:
        return value.numerator, value.denominator

    def decode(self, internal: tuple[int, int]) -> Fraction:
        return Fraction(*internal)


@dataclass(frozen=True, slots=True, repr=False)
class ZonedTimestampTypeInfo(ConvertedTypeInfo):
    """Type of `datetime.datetime` with or without a zone. Its internal form is microseconds of the
    wall clock, with fold and zone where necessary.
    """

    @property
    def name(self) -> str:
        return "TIMESTAMP"

    @property
    def bridged_type(self) -> LogicalType:
        return ZonedTimestampType(6)

    def accepts(self, value: Any) -> bool:
        return type(value) is datetime

    def encode(self, value: datetime) -> Any:
        wall = (value.replace(tzinfo=None, fold=0) - EPOCH) // MICROSECOND
        if value.tzinfo is None and not value.fold:
            return wall
        return wall, value.fold, encode_zone(value.tzinfo)

    def decode(self, internal: Any) -> datetime:
        if isinstance(internal, int):
            return EPOCH + internal * MICROSECOND
        wall, fold, zone = internal
        value: datetime = EPOCH + wall * MICROSECOND
        return value.replace(fold=fold, tzinfo=decode_zone(zone))


@dataclass(frozen=True, slots=True, repr=False)
class ZonedTimeTypeInfo(ConvertedTypeInfo):
    """Type of `datetime.time` with or without a zone; its internal form is like that of
    `ZonedTimestampTypeInfo`.
    """

    @property
    def name(self) -> str:
        return "TIME"

    @property
    def bridged_type(self) -> LogicalType:
        return ZONED_TIME

    def accepts(self, value: Any) -> bool:
        return type(value) is time

    def encode(self, value: time) -> Any:
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        wall = seconds * 1_000_000 + value.microsecond
        if value.tzinfo is None and not value.fold:
            return wall
        return wall, value.fold, encode_zone(value.tzinfo)

    def decode(self, internal: Any) -> time:
        if isinstance(internal, int):
            return (EPOCH + internal * MICROSECOND).time()
        wall, fold, zone = internal
        value: datetime = EPOCH + wall * MICROSECOND
        return value.time().replace(fold=fold, tzinfo=decode_zone(zone))


def encode_zone(zone: tzinfo | None) -> Any:
    """A zone as plain data: a name, an offset in microseconds, or an offset and a name.

    Raises:
        SerializationError: it is of a class that cannot be told apart from its offset.
    """
    if zone is None:
        return None
    if type(zone) is ZoneInfo and zone.key is not None:
        return zone.key
    if type(zone) is timezone:
        offset = zone.utcoffset(None) // MICROSECOND
        name = zone.tzname(None)
        usual = timezone(timedelta(microseconds=offset)).tzname(None)
        return offset if name == usual else (offset, name)
    raise SerializationError(
        f"the time zone {zone!r} of type {type(zone).__qualname__} cannot be written; use "
        "zoneinfo.ZoneInfo or datetime.timezone"
    )


def zone_text(zone: tzinfo | None) -> str | None:
    """A zone as text: its name, or its offset followed by a name.

    >>> zone_text(timezone(timedelta(hours=-1), "Azores")), zone_text(ZoneInfo("Europe/Berlin"))
    ('-3600000000 Azores', 'Europe/Berlin')
    """
    internal = encode_zone(zone)
    if isinstance(internal, tuple):
        return f"{internal[0]:+} {internal[1]}"
    return f"{internal:+}" if isinstance(internal, int) else internal


def zone_of_text(text: str | None) -> tzinfo | None:
    """The zone of a text that `zone_text` made."""
    if text is None or text[0] not in "+-":
        return decode_zone(text)
    offset, space, name = text.partition(" ")
    return decode_zone((int(offset), name) if space else int(offset))


def decode_zone(internal: Any) -> tzinfo | None:
    """The zone of plain data that `encode_zone` made."""
    if internal is None:
        return None
    if type(internal) is str:
        return ZoneInfo(internal)
    if type(internal) is int:
        return timezone(timedelta(microseconds=internal))
    offset, name = internal
    return timezone(timedelta(microseconds=offset), name)
