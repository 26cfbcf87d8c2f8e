"""Types of single values that are converted to builtin ones: decimals, dates and times.

They accept exactly their class: a subclass (such as pandas' Timestamp) would not come back as it
was.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar

from millrace.common.errors import SerializationError
from millrace.common.time.amounts import Instant
from millrace.common.types.logical.logical_type import (
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    LogicalType,
    TimestampType,
    TimeType,
)
from millrace.common.types.type_information import TypeInformation

__all__ = [
    "BigDecTypeInfo",
    "ConvertedTypeInfo",
    "DateTypeInfo",
    "InstantTypeInfo",
    "LocalTimeTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
]

EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)


class ConvertedTypeInfo(TypeInformation[Any]):
    """Type of a single value whose internal form differs from the Python value."""

    __slots__ = ()

    @abstractmethod
    def encode(self, value: Any) -> Any:
        """The internal form of a value that is not None."""

    @abstractmethod
    def decode(self, internal: Any) -> Any:
        """The value for an internal form that is not None."""


@dataclass(frozen=True, slots=True, repr=False)
class BigDecTypeInfo(ConvertedTypeInfo):
    """Type of `decimal.Decimal`; its internal form is a text of its digits."""

    @property
    def name(self) -> str:
        return "BIG_DEC"

    @property
    def bridged_type(self) -> LogicalType:
        return DecimalType(38, 18)

    def __repr__(self) -> str:
        return "BigDecimal"

    def accepts(self, value: Any) -> bool:
        return type(value) is Decimal

    def encode(self, value: Decimal) -> str:
        return str(value)

    def decode(self, internal: str) -> Decimal:
        if type(internal) is not str:  # of a whole number it takes the square of its length
            raise SerializationError("a decimal that is not text")
        return Decimal(internal)


@dataclass(frozen=True, slots=True, repr=False)
class InstantTypeInfo(ConvertedTypeInfo):
    """Type of `millrace.common.time.Instant`; its internal form is (seconds, nanoseconds)."""

    @property
    def name(self) -> str:
        return "INSTANT"

    @property
    def bridged_type(self) -> LogicalType:
        return LocalZonedTimestampType(9)

    def __repr__(self) -> str:
        return "Instant"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Instant)

    def encode(self, value: Instant) -> tuple[int, int]:
        return value.seconds, value.nanos

    def decode(self, internal: tuple[int, int]) -> Instant:
        return Instant(*internal)


@dataclass(frozen=True, slots=True, repr=False)
class DateTypeInfo(ConvertedTypeInfo):
    """Type of `datetime.date`; its internal form is days since the epoch."""

    @property
    def name(self) -> str:
        return "SQL_DATE"

    @property
    def bridged_type(self) -> LogicalType:
        return DateType()

    def __repr__(self) -> str:
        return "DateTypeInfo"

    def accepts(self, value: Any) -> bool:
        return type(value) is date

    def encode(self, value: date) -> int:
        return value.toordinal() - EPOCH_ORDINAL

    def decode(self, internal: int) -> date:
        return date.fromordinal(internal + EPOCH_ORDINAL)


@dataclass(frozen=True, slots=True, repr=False)
class TimeTypeInfo(ConvertedTypeInfo):
    """Type of `datetime.time` without a zone; its internal form is microseconds since midnight."""

    @property
    def name(self) -> str:
        return "SQL_TIME"

    @property
    def bridged_type(self) -> LogicalType:
        return TimeType(6)

    def __repr__(self) -> str:
        return "TimeTypeInfo"

    def accepts(self, value: Any) -> bool:
        return type(value) is time and value.tzinfo is None

    def encode(self, value: time) -> int:
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        return seconds * 1_000_000 + value.microsecond

    def decode(self, internal: int) -> time:
        return (EPOCH + internal * MICROSECOND).time()


@dataclass(frozen=True, slots=True, repr=False)
class TimestampTypeInfo(ConvertedTypeInfo):
    """Type of `datetime.datetime` without a zone; its internal form is microseconds since
    1970-01-01 00:00.
    """

    @property
    def name(self) -> str:
        return "SQL_TIMESTAMP"

    @property
    def bridged_type(self) -> LogicalType:
        return TimestampType(6)

    def __repr__(self) -> str:
        return "TimestampTypeInfo"

    def accepts(self, value: Any) -> bool:
        return type(value) is datetime and value.tzinfo is None

    def encode(self, value: datetime) -> int:
        return (value - EPOCH) // MICROSECOND

    def decode(self, internal: int) -> datetime:
        return EPOCH + internal * MICROSECOND


class SqlTimeTypeInfo:
    """Factory of the types of dates and times, like PyFlink's class of this name."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """``Types.SQL_DATE()``."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """``Types.SQL_TIME()``."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """``Types.SQL_TIMESTAMP()``."""
        return TimestampTypeInfo()


class LocalTimeKind(Enum):
    """Java's classes of local times."""

    LOCAL_DATE = 0
    LOCAL_TIME = 1
    LOCAL_DATE_TIME = 2


@dataclass(frozen=True, slots=True, repr=False)
class LocalTimeTypeInfo(ConvertedTypeInfo):
    """Java's local dates and times. Their Python values are those of `SqlTimeTypeInfo`."""

    time_type: LocalTimeKind

    TimeType: ClassVar = LocalTimeKind

    @property
    def same(self) -> ConvertedTypeInfo:
        """The type of `SqlTimeTypeInfo` with the same values."""
        return _LOCAL[self.time_type]

    @property
    def name(self) -> str:
        return self.same.name

    @property
    def bridged_type(self) -> LogicalType:
        return self.same.bridged_type

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self.time_type.name}>"

    def accepts(self, value: Any) -> bool:
        return self.same.accepts(value)

    def encode(self, value: Any) -> Any:
        return self.same.encode(value)

    def decode(self, internal: Any) -> Any:
        return self.same.decode(internal)


_LOCAL: dict[LocalTimeKind, ConvertedTypeInfo] = {
    LocalTimeKind.LOCAL_DATE: DateTypeInfo(),
    LocalTimeKind.LOCAL_TIME: TimeTypeInfo(),
    LocalTimeKind.LOCAL_DATE_TIME: TimestampTypeInfo(),
}
