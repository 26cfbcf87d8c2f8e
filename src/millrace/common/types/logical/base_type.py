"""`LogicalType`, the base class of logical types, and the decorator of its subclasses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from millrace.common.errors import JobDefinitionError

__all__ = ["LogicalType", "literal", "logical_type", "quoted", "required", "required_one"]

T = TypeVar("T")


def quoted(name: str) -> str:
    """A name quoted for SQL, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _nullability(*, default: bool, kw_only: bool, alias: str) -> Any:
    """A field whose ``__init__`` parameter has another name, because a method has the field's
    name."""
    return field(default=default, kw_only=kw_only)


@dataclass_transform(field_specifiers=(_nullability, field))
def logical_type(cls: type[T]) -> type[T]:
    """Class decorator of types: frozen data with slots, whose parameter ``nullable`` sets
    `is_nullable`."""
    made = dataclass(frozen=True, slots=True, repr=False)(cls)
    return _with_alias(made)


def _with_alias(made: type[T]) -> type[T]:
    initialised: Callable[..., None] = made.__init__

    @wraps(initialised)
    def __init__(*values: Any, **settings: Any) -> None:
        # replace() names the field, and programs name what it is called in SQL and in PyFlink
        if "nullable" in settings:
            settings["is_nullable"] = settings.pop("nullable")
        initialised(*values, **settings)

    type.__setattr__(made, "__init__", __init__)
    return made


@logical_type
class LogicalType:
    """Base class of logical types; ``is_nullable`` says whether a value may be missing.

    Raises:
        JobDefinitionError: a length, precision or scale is out of Flink's range.
    """

    is_nullable: bool = _nullability(default=True, kw_only=True, alias="nullable")

    NAME: ClassVar[str] = ""

    def text(self) -> str:
        """The type as SQL text, without nullability."""
        return self.NAME

    def children(self) -> tuple[LogicalType, ...]:
        """Types of the fields or elements; empty for a scalar type."""
        return ()

    def with_nullable(self, nullable: bool) -> Self:
        """The same type, nullable or not (Flink's ``copy(isNullable)``)."""
        return self if nullable == self.is_nullable else replace(self, nullable=nullable)

    def not_null(self) -> Self:
        """The same type without null."""
        return self.with_nullable(False)

    def nullable(self) -> Self:
        """The same type with null."""
        return self.with_nullable(True)

    def bridged_to(self, conversion_cls: str) -> Self:
        """The type itself. In Flink this method names the JVM class of the values, but here values
        are always Python's.
        """
        return self

    def __str__(self) -> str:
        return self.text() if self.is_nullable else f"{self.text()} NOT NULL"

    def __repr__(self) -> str:
        return str(self)


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def required(name: str, what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise JobDefinitionError(f"the {what} of {name} is between {least} and {most}, not {value}")


def required_one(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise JobDefinitionError(f"{name} {value}: there are {', '.join(allowed)}")
