"""`RowField`: a field of a row type, with a name and a type."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.types.logical.base_type import LogicalType, literal, quoted

__all__ = ["RowField", "RowFields"]


@dataclass(frozen=True, slots=True, repr=False)
class RowField:
    """A field of a row."""

    name: str
    type: LogicalType
    description: str | None = None

    @property
    def data_type(self) -> LogicalType:
        """PyFlink's name of `type`."""
        return self.type

    def __str__(self) -> str:
        comment = "" if self.description is None else f" {literal(self.description)}"
        return f"{quoted(self.name)} {self.type}{comment}"

    __repr__ = __str__


class RowFields(tuple[RowField, ...]):
    """The fields of a row, immutable; PyFlink has a list, which programs copy."""

    __slots__ = ()

    def copy(self) -> list[RowField]:
        """A list of the fields."""
        return list(self)
