"""Names of objects in catalogs."""

from __future__ import annotations

from typing import NamedTuple

from millrace.common.types.logical.logical_type import quoted

__all__ = ["ObjectIdentifier", "ObjectPath", "parts_of"]


class ObjectPath(NamedTuple):
    """A name within a catalog: database and object. Flink: ``ObjectPath``."""

    database: str
    name: str

    def __str__(self) -> str:
        return f"{quoted(self.database)}.{quoted(self.name)}"


class ObjectIdentifier(NamedTuple):
    """A name in full. Flink: ``ObjectIdentifier``."""

    catalog: str
    database: str
    name: str

    @property
    def path(self) -> ObjectPath:
        """The name within its catalog."""
        return ObjectPath(self.database, self.name)

    def __str__(self) -> str:
        return ".".join(map(quoted, self))


def parts_of(path: str) -> tuple[str, ...]:
    """The parts of a name as programs write it.

    >>> parts_of("shop.`orders`")
    ('shop', 'orders')
    """
    return tuple(part.strip("` ") for part in path.split("."))
