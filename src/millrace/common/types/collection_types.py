"""Types of collections that PyFlink's `Types` lacks: sets, tuples of any length, unions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.common.types.logical.bridged import bridged
from millrace.common.types.logical.logical_type import ArrayType, LogicalType, RawType
from millrace.common.types.record_fields import positions
from millrace.common.types.type_information import TypeInformation

__all__ = ["SetTypeInfo", "UnionTypeInfo", "VariadicTupleTypeInfo"]


@dataclass(frozen=True, slots=True, repr=False)
class SetTypeInfo(TypeInformation[Any]):
    """A `set` or `frozenset` of one type."""

    element_type: TypeInformation[Any]
    frozen: bool = False

    @property
    def kind(self) -> type[set[Any]] | type[frozenset[Any]]:
        """The class of the values."""
        return frozenset if self.frozen else set

    @property
    def name(self) -> str:
        return f"{'FROZENSET' if self.frozen else 'SET'}({self.element_type.name})"

    @property
    def is_immutable(self) -> bool:
        return self.frozen

    @property
    def bridged_type(self) -> LogicalType:
        return bridged(ArrayType(self.element_type.bridged_type), self.kind.__name__)


@dataclass(frozen=True, slots=True, repr=False)
class VariadicTupleTypeInfo(TypeInformation[Any]):
    """A `tuple` of any length with elements of one type."""

    element_type: TypeInformation[Any]

    @property
    def name(self) -> str:
        return f"TUPLE({self.element_type.name}, ...)"

    @property
    def is_immutable(self) -> bool:
        return self.element_type.is_immutable

    @property
    def bridged_type(self) -> LogicalType:
        return bridged(ArrayType(self.element_type.bridged_type), "tuple")


@dataclass(frozen=True, slots=True, repr=False)
class UnionTypeInfo(TypeInformation[Any]):
    """Values of one of several types without a conversion."""

    types: tuple[TypeInformation[Any], ...]

    @property
    def name(self) -> str:
        return " | ".join(member.name for member in self.types)

    @property
    def is_immutable(self) -> bool:
        return all(member.is_immutable for member in self.types)

    @property
    def bridged_type(self) -> LogicalType:
        members = (member.bridged_type for member in self.types)
        numbered = zip(positions(len(self.types)), members, strict=True)
        return bridged(RawType(self.name, "plain"), "union", *numbered)
