"""Types of records, keys and state, with the names of PyFlink (Flink docs, "Data Types").

A type says how values are written where bytes are kept (state, checkpoints), whether they may be
handed out of state without a copy, and what to complain about. Types compare by structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeVar, overload

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Instant
from millrace.common.types.composite_types import (
    ArrayTypeInfo,
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.external_type import ExternalTypeInfo
from millrace.common.types.serialized_type import SerializedTypeInfo
from millrace.common.types.serializer import TypeSerializer
from millrace.common.types.type_hints import type_of
from millrace.common.types.type_information import (
    BasicType,
    BasicTypeInfo,
    PickledBytesTypeInfo,
    TypeInformation,
)
from millrace.common.types.value_types import (
    BigDecTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)

__all__ = [
    "ArrayTypeInfo",
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "BigDecTypeInfo",
    "DateTypeInfo",
    "ExternalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class Types:
    """Factory of types.

    Example:
        >>> Types.TUPLE([Types.STRING(), Types.LIST(Types.LONG())])
        TupleTypeInfo(String, ListTypeInfo<Long>)
        >>> Types.LONG().accepts("1")
        False
    """

    @staticmethod
    def STRING() -> TypeInformation[str]:
        """``str``."""
        return BasicTypeInfo("STRING")

    @staticmethod
    def BYTE() -> TypeInformation[int]:
        """``int``, one byte in Flink."""
        return BasicTypeInfo("BYTE")

    @staticmethod
    def BOOLEAN() -> TypeInformation[bool]:
        """``bool``."""
        return BasicTypeInfo("BOOLEAN")

    @staticmethod
    def SHORT() -> TypeInformation[int]:
        """``int``, two bytes in Flink."""
        return BasicTypeInfo("SHORT")

    @staticmethod
    def INT() -> TypeInformation[int]:
        """``int``, four bytes in Flink."""
        return BasicTypeInfo("INT")

    @staticmethod
    def LONG() -> TypeInformation[int]:
        """``int``, eight bytes in Flink; here of any size."""
        return BasicTypeInfo("LONG")

    @staticmethod
    def FLOAT() -> TypeInformation[float]:
        """``float``, four bytes in Flink; here eight."""
        return BasicTypeInfo("FLOAT")

    @staticmethod
    def DOUBLE() -> TypeInformation[float]:
        """``float``."""
        return BasicTypeInfo("DOUBLE")

    @staticmethod
    def CHAR() -> TypeInformation[str]:
        """``str`` of one character."""
        return BasicTypeInfo("CHAR")

    @staticmethod
    def BIG_INT() -> TypeInformation[int]:
        """``int`` of any size."""
        return BasicTypeInfo("BIG_INT")

    @staticmethod
    def BIG_DEC() -> TypeInformation[Decimal]:
        """``decimal.Decimal``."""
        return BigDecTypeInfo()

    @staticmethod
    def INSTANT() -> TypeInformation[Instant]:
        """``millrace.common.time.Instant``."""
        return InstantTypeInfo()

    @staticmethod
    def SQL_DATE() -> TypeInformation[date]:
        """``datetime.date``."""
        return DateTypeInfo()

    @staticmethod
    def SQL_TIME() -> TypeInformation[time]:
        """``datetime.time`` without a zone."""
        return TimeTypeInfo()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation[datetime]:
        """``datetime.datetime`` without a zone."""
        return TimestampTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation[Any]:
        """Anything that can be pickled."""
        return PickledBytesTypeInfo()

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation[Any]]) -> TupleTypeInfo:
        """``tuple`` with the given fields."""
        return TupleTypeInfo(all_checked("TUPLE", field_types))

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation[Any]]) -> RowTypeInfo:
        """`Row` with the given fields, without names."""
        return RowTypeInfo(all_checked("ROW", field_types))

    @staticmethod
    def ROW_NAMED(
        field_names: Sequence[str], field_types: Sequence[TypeInformation[Any]]
    ) -> RowTypeInfo:
        """`Row` with the given fields and names."""
        return RowTypeInfo(all_checked("ROW_NAMED", field_types), tuple(field_names))

    @staticmethod
    def LIST(element_type_info: TypeInformation[T]) -> TypeInformation[list[T]]:
        """``list`` of one type."""
        return ListTypeInfo(checked("LIST", element_type_info))

    @staticmethod
    def MAP(
        key_type_info: TypeInformation[K], value_type_info: TypeInformation[V]
    ) -> TypeInformation[dict[K, V]]:
        """``dict`` of one type of keys and one of values."""
        return MapTypeInfo(checked("MAP", key_type_info), checked("MAP", value_type_info))

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation[Any]) -> ArrayTypeInfo:
        """Sequence of numbers, characters or booleans, none of them None."""
        return PrimitiveArrayTypeInfo(checked("PRIMITIVE_ARRAY", element_type))

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation[Any]) -> ArrayTypeInfo:
        """Sequence of basic values."""
        return BasicArrayTypeInfo(checked("BASIC_ARRAY", element_type))

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation[Any]) -> ArrayTypeInfo:
        """Sequence of anything."""
        return ObjectArrayTypeInfo(checked("OBJECT_ARRAY", element_type))

    @overload
    @staticmethod
    def of(hint: type[T]) -> TypeInformation[T]: ...

    @overload
    @staticmethod
    def of(hint: Any) -> TypeInformation[Any]: ...

    @staticmethod
    def of(hint: Any) -> TypeInformation[Any]:
        """The type of a type hint: of a dataclass, NamedTuple or Enum, of ``int``, ``float``,
        ``str``, ``bytes``, ``bool``, ``complex``, Decimal, Fraction, UUID, dates and times, of
        list, dict, set, frozenset and tuple of these, of Optional; ``Any`` is pickled.

        Values come back as they were: of exactly the same class, without a call of its code.

        Example:
            >>> from typing import NamedTuple
            >>> class Reading(NamedTuple):
            ...     sensor: str
            ...     values: list[float]
            >>> Types.of(Reading)
            Reading(sensor: STRING, values: LIST(DOUBLE))

        Raises:
            JobDefinitionError: there is no type for it; the message names the field.
        """
        return type_of(hint)

    @staticmethod
    def SERIALIZED(serializer: TypeSerializer[T], name: str | None = None) -> TypeInformation[T]:
        """The type of values that ``serializer`` writes; state stores its ``version``.

        Args:
            name: name for all versions of the serializer; None for the name of its class.

        Raises:
            JobDefinitionError: it is not a `TypeSerializer`.
        """
        if not isinstance(serializer, TypeSerializer):
            raise JobDefinitionError(f"Types.SERIALIZED takes a TypeSerializer, got {serializer!r}")
        label = name or type(serializer).__qualname__
        return SerializedTypeInfo(label, serializer.version, serializer)


def checked(owner: str, item: Any) -> TypeInformation[Any]:
    """The type itself; raises `JobDefinitionError` if it is not a type."""
    if isinstance(item, TypeInformation):
        return item
    raise JobDefinitionError(f"Types.{owner} takes types {instead_of_type(item)}")


def instead_of_type(item: Any) -> str:
    """End of a message about an object that is not a type although a type is needed.

    Example:
        >>> instead_of_type(Types.STRING), instead_of_type(str)
        ('such as Types.LONG(), got Types.STRING: write Types.STRING()', \
"such as Types.LONG(), got <class 'str'>")
    """
    name = getattr(item, "__qualname__", "")
    if name.startswith("Types.") and callable(item):
        return f"such as Types.LONG(), got {name}: write {name}()"
    return f"such as Types.LONG(), got {item!r}"


def all_checked(owner: str, items: Sequence[Any]) -> tuple[TypeInformation[Any], ...]:
    return tuple(checked(owner, item) for item in items)
