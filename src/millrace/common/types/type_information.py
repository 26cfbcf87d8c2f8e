"""Base of type information, and the types that need no conversion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.bridged import unbridged
from millrace.common.types.logical.logical_type import LogicalType

__all__ = ["BasicType", "BasicTypeInfo", "PickledBytesTypeInfo", "TypeInformation"]

T_co = TypeVar("T_co", covariant=True)

PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "STRING": (str,),
    "CHAR": (str,),
    "BOOLEAN": (bool,),
    "BYTE": (int,),
    "SHORT": (int,),
    "INT": (int,),
    "LONG": (int,),
    "BIG_INT": (int,),
    "FLOAT": (float, int),
    "DOUBLE": (float, int),
    "BYTES": (bytes,),
    "COMPLEX": (complex,),
    "NONE": (type(None),),
}

LOGICAL_TYPES: dict[str, LogicalType] = {
    "STRING": logical.VarCharType(),
    "CHAR": logical.CharType(1),
    "BOOLEAN": logical.BooleanType(),
    "BYTE": logical.TinyIntType(),
    "SHORT": logical.SmallIntType(),
    "INT": logical.IntType(),
    "LONG": logical.BigIntType(),
    "BIG_INT": logical.DecimalType(38, 0),
    "FLOAT": logical.FloatType(),
    "DOUBLE": logical.DoubleType(),
    "BYTES": logical.VarBinaryType(),
    "COMPLEX": logical.StructuredType(
        logical.RowType.of(("real", logical.DoubleType()), ("imag", logical.DoubleType())).fields,
        "complex",
    ),
    "NONE": logical.NullType(),
}


class TypeInformation(ABC, Generic[T_co]):
    """Describes the values of a stream, a key or a state; ``T_co`` is their class in Python."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """Name as `Types` spells it, for example ``LIST(LONG)``; ``repr`` is PyFlink's."""

    @property
    @abstractmethod
    def bridged_type(self) -> LogicalType:
        """The logical type. If several Python classes share it, it also names the class. Types with
        equal bridged types have the same internal form.
        """

    @property
    def logical_type(self) -> LogicalType:
        """Type of the values in Flink's type system, independent of their Python class."""
        return unbridged(self.bridged_type)

    @property
    def is_immutable(self) -> bool:
        """Whether values can be shared, because they cannot change."""
        return True

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` has this type. The check goes as deep as declared types are checked."""
        from millrace.common.types.type_check import mismatch  # it knows all the types

        return value is not None and mismatch(self, value) is None

    def need_conversion(self) -> bool:
        """Whether the internal form differs from the Python value."""
        from millrace.common.types.plain_data import to_plain  # it knows all the types

        return to_plain(self) is not None

    def to_internal_type(self, obj: Any) -> Any:
        """The value as numbers, strings, bytes, tuples, lists and dicts only; None stays None.

        Raises:
            SerializationError: the value is not of this type.
        """
        from millrace.common.types.plain_data import to_plain

        convert = to_plain(self)
        if convert is None or obj is None:
            return obj
        if not self.accepts(obj):
            raise SerializationError(f"{obj!r} cannot be written as {self.name}")
        return convert(obj)

    def from_internal_type(self, obj: Any) -> Any:
        """The value for an internal form: the inverse of `to_internal_type`."""
        from millrace.common.types.plain_data import from_plain

        convert = from_plain(self)
        return obj if convert is None else convert(obj)

    def schema(self) -> str:
        """The text of `bridged_type`, as it is stored next to state."""
        return str(self.bridged_type)

    def __repr__(self) -> str:
        return self.name


class BasicType(Enum):
    """The basic types and their names in PyFlink; the last three exist in Python only."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"
    BYTES = "Bytes"
    COMPLEX = "Complex"
    NONE = "None"


@dataclass(frozen=True, slots=True, repr=False)
class BasicTypeInfo(TypeInformation[Any]):
    """Numbers, strings, bytes, booleans and None.

    Example:
        >>> BasicTypeInfo(BasicType.LONG)
        Long

    Raises:
        JobDefinitionError: of BIG_DEC and INSTANT, which have classes of their own.
    """

    label: str

    def __init__(self, basic_type: BasicType | str) -> None:
        label = basic_type.name if isinstance(basic_type, BasicType) else basic_type
        if label not in PYTHON_TYPES:
            raise JobDefinitionError(f"take Types.{label}() for values of that type")
        object.__setattr__(self, "label", label)

    def __repr__(self) -> str:
        return str(BasicType[self.label].value)

    @property
    def name(self) -> str:
        return self.label

    @property
    def bridged_type(self) -> LogicalType:
        return LOGICAL_TYPES[self.label]

    @property
    def python_types(self) -> tuple[type, ...]:
        """The Python classes of values, the most frequent first."""
        return PYTHON_TYPES[self.label]

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, self.python_types):
            # a scalar of NumPy is what it holds
            is_numpy = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
            return is_numpy and self.accepts(value.item())
        kind = LOGICAL_TYPES[self.label]
        is_ranged = isinstance(kind, logical.IntegralType) and isinstance(value, int)
        return not is_ranged or kind.holds(value)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, repr=False)
class PickledBytesTypeInfo(TypeInformation[Any]):
    """Anything that can be pickled: the type of values without a declared type."""

    @property
    def name(self) -> str:
        return "PICKLED_BYTE_ARRAY"

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"

    @property
    def bridged_type(self) -> LogicalType:
        return logical.RawType("object", "pickle")

    @property
    def is_immutable(self) -> bool:
        return False

    def accepts(self, value: Any) -> bool:
        return True
