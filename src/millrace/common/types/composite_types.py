"""Types made of other types: lists, arrays, maps, tuples and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.logical.bridged import bridged
from millrace.common.types.logical.logical_type import (
    ArrayType,
    LogicalType,
    MapType,
    RowField,
    RowType,
    VarBinaryType,
)
from millrace.common.types.record_fields import positions
from millrace.common.types.row import Row, named_row
from millrace.common.types.type_information import TypeInformation

__all__ = [
    "ARRAY_TYPES",
    "ArrayTypeInfo",
    "BasicArrayTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "TupleTypeInfo",
]


@dataclass(frozen=True, slots=True, repr=False)
class ListTypeInfo(TypeInformation[list[Any]]):
    """A `list` of one type."""

    element_type: TypeInformation[Any]

    @property
    def name(self) -> str:
        return f"LIST({self.element_type.name})"

    @property
    def elem_type(self) -> TypeInformation[Any]:
        """PyFlink's name of ``element_type``."""
        return self.element_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.element_type!r}>"

    @property
    def is_immutable(self) -> bool:
        return False

    @property
    def bridged_type(self) -> LogicalType:
        return ArrayType(self.element_type.bridged_type)


@dataclass(frozen=True, slots=True, repr=False)
class ArrayTypeInfo(ListTypeInfo):
    """A sequence of one type: list, tuple, `array.array`; for bytes also bytes and bytearray."""

    kind: ClassVar[str]
    """The method of `Types` that makes it."""

    @property
    def name(self) -> str:
        return f"{self.kind}({self.element_type.name})"

    @property
    def is_bytes(self) -> bool:
        """Whether the type is Java's ``byte[]``, which is bytes in Python."""
        return self.name == "PRIMITIVE_ARRAY(BYTE)"

    @property
    def bridged_type(self) -> LogicalType:
        if self.is_bytes:
            return bridged(VarBinaryType(), self.kind)
        element = self.element_type.bridged_type
        return bridged(ArrayType(element.with_nullable(self.kind != "PRIMITIVE_ARRAY")), self.kind)


class PrimitiveArrayTypeInfo(ArrayTypeInfo):
    """An array of numbers, characters or booleans, none of them None."""

    __slots__ = ()
    kind = "PRIMITIVE_ARRAY"


class BasicArrayTypeInfo(ArrayTypeInfo):
    """An array of basic values."""

    __slots__ = ()
    kind = "BASIC_ARRAY"


class ObjectArrayTypeInfo(ArrayTypeInfo):
    """An array of values of any type."""

    __slots__ = ()
    kind = "OBJECT_ARRAY"


ARRAY_TYPES: dict[str, type[ArrayTypeInfo]] = {
    cls.kind: cls for cls in (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo)
}


@dataclass(frozen=True, slots=True, repr=False)
class MapTypeInfo(TypeInformation[dict[Any, Any]]):
    """A `dict` of one type of keys and one of values."""

    key_type: TypeInformation[Any]
    value_type: TypeInformation[Any]

    @property
    def name(self) -> str:
        return f"MAP({self.key_type.name}, {self.value_type.name})"

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type!r}, {self.value_type!r}>"

    @property
    def is_immutable(self) -> bool:
        return False

    @property
    def bridged_type(self) -> LogicalType:
        return MapType(self.key_type.bridged_type, self.value_type.bridged_type)


@dataclass(frozen=True, slots=True, repr=False)
class TupleTypeInfo(TypeInformation[tuple[Any, ...]]):
    """A `tuple` of fixed length."""

    types: tuple[TypeInformation[Any], ...]

    def __init__(self, field_types: Sequence[TypeInformation[Any]]) -> None:
        object.__setattr__(self, "types", tuple(field_types))

    @property
    def name(self) -> str:
        return f"TUPLE({', '.join(part.name for part in self.types)})"

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self.types))})"

    @property
    def is_immutable(self) -> bool:
        return all(part.is_immutable for part in self.types)

    def get_field_types(self) -> list[TypeInformation[Any]]:
        """Types of the fields, in order."""
        return list(self.types)

    @property
    def bridged_type(self) -> LogicalType:
        return bridged(RowType(fields_of(positions(len(self.types)), self.types)), "tuple")


@dataclass(frozen=True, slots=True, repr=False)
class RowTypeInfo(TypeInformation[Row]):
    """Type of a `Row`; its internal form is a tuple of its kind and its values.

    As in PyFlink, two row types are equal when the types of their fields are.
    """

    types: tuple[TypeInformation[Any], ...]
    field_names: tuple[str, ...] | None = field(default=None, compare=False)

    def __init__(
        self,
        field_types: Sequence[TypeInformation[Any]],
        field_names: Sequence[str] | None = None,
    ) -> None:
        object.__setattr__(self, "types", tuple(field_types))
        object.__setattr__(self, "field_names", None if field_names is None else tuple(field_names))
        if self.field_names is not None and len(self.field_names) != len(self.types):
            raise JobDefinitionError(
                f"a row type needs one name per field: {len(self.field_names)} names "
                f"{list(self.field_names)} for {len(self.types)} types"
            )

    @property
    def name(self) -> str:
        if self.field_names is None:
            return f"ROW({', '.join(part.name for part in self.types)})"
        pairs = zip(self.field_names, self.types, strict=True)
        return f"ROW({', '.join(f'{label}: {part.name}' for label, part in pairs)})"

    def __repr__(self) -> str:
        if self.field_names is None:
            return f"RowTypeInfo({', '.join(map(repr, self.types))})"
        pairs = zip(self.field_names, self.types, strict=True)
        return f"RowTypeInfo({', '.join(f'{label}: {part!r}' for label, part in pairs)})"

    @property
    def is_immutable(self) -> bool:
        return False

    def get_field_names(self) -> list[str]:
        """Names of the fields; ``f0``, ``f1``, ... by default."""
        if self.field_names is None:
            return list(positions(len(self.types)))
        return list(self.field_names)

    def get_field_types(self) -> list[TypeInformation[Any]]:
        """Types of the fields, in order."""
        return list(self.types)

    def get_field_index(self, field_name: str) -> int:
        """Position of a field; -1 if there is none."""
        names = self.get_field_names()
        return names.index(field_name) if field_name in names else -1

    @property
    def bridged_type(self) -> LogicalType:
        row = RowType(fields_of(self.get_field_names(), self.types))
        return row if self.field_names is not None else bridged(row, "Row")

    def to_internal_type(self, obj: Any) -> Any:
        if obj is not None and not isinstance(obj, Row):
            obj = named_row(self.field_names, self.values_of(obj))
        return TypeInformation.to_internal_type(self, obj)

    def values_of(self, obj: Any) -> Sequence[Any]:
        """The fields of a row, tuple, list, dict or object, in order."""
        if isinstance(obj, Row):
            return list(obj)
        if isinstance(obj, (tuple, list)):
            return obj
        fields = obj if isinstance(obj, Mapping) else getattr(obj, "__dict__", None)
        if fields is None:
            raise SerializationError(f"{obj!r} cannot be written as {self.name}")
        return [fields.get(label) for label in self.get_field_names()]


def fields_of(names: Sequence[str], types: Sequence[TypeInformation[Any]]) -> tuple[RowField, ...]:
    """The fields of a logical row type, from names and types."""
    pairs = zip(names, types, strict=True)
    return tuple(RowField(name, part.bridged_type) for name, part in pairs)
