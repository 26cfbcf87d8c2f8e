"""Names of objects in catalogs."""

from __future__ import annotations

from typing import NamedTuple

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import quoted

__all__ = ["ObjectIdentifier", "ObjectPath", "parts_of"]


class ObjectPath(NamedTuple):
    """A name within a catalog: database and object. Flink: ``ObjectPath``."""

    database: str
    name: str

    def __str__(self) -> str:
        return f"{quoted(self.database)}.{quoted(self.name)}"

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path that a text such as ``database.object`` describes.

        >>> ObjectPath.from_string("shop.orders").get_object_name()
        'orders'

        Raises:
            JobDefinitionError: the text is not of this form.
        """
        parts = parts_of(full_name)
        if len(parts) != 2 or not all(parts):
            raise JobDefinitionError(f"a path must be 'database.object', not {full_name!r}")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        """The database."""
        return self.database

    def get_object_name(self) -> str:
        """The object's name in its database."""
        return self.name

    def get_full_name(self) -> str:
        """``database.object``."""
        return f"{self.database}.{self.name}"

    def compare_to(self, other: ObjectPath) -> int:
        """-1, 0 or 1, if this path's full name sorts before, is equal to, or sorts after another
        path's."""
        mine, its = self.get_full_name(), other.get_full_name()
        return (mine > its) - (mine < its)


class ObjectIdentifier(NamedTuple):
    """A full name. Flink: ``ObjectIdentifier``."""

    catalog: str
    database: str
    name: str

    @property
    def path(self) -> ObjectPath:
        """The name within its catalog."""
        return ObjectPath(self.database, self.name)

    def __str__(self) -> str:
        return ".".join(map(quoted, self))

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The name of an object in a database of a catalog."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The catalog."""
        return self.catalog

    def get_database_name(self) -> str:
        """The database."""
        return self.database

    def get_object_name(self) -> str:
        """The object's name in its database."""
        return self.name

    def to_object_path(self) -> ObjectPath:
        """The name within its catalog."""
        return self.path

    def to_list(self) -> list[str]:
        """Catalog, database and name."""
        return list(self)

    def as_serializable_string(self) -> str:
        """The name in SQL, each part in backticks."""
        return str(self)

    def as_summary_string(self) -> str:
        """The name as people write it."""
        return ".".join(self)


def parts_of(path: str) -> tuple[str, ...]:
    """The parts of a name, which a program gives as one text or in parts.

    >>> parts_of("shop.`orders`")
    ('shop', 'orders')
    """
    return tuple(part.strip("` ") for part in path.split("."))
