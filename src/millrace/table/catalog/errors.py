"""Errors of catalogs for missing and existing objects, with the nearest name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.plugins import Plugins
from millrace.common.similar_names import did_you_mean, nearest_name
from millrace.expressions.resolved import SqlPosition

__all__ = [
    "CatalogError",
    "DatabaseAlreadyExistError",
    "DatabaseNotEmptyError",
    "DatabaseNotExistError",
    "FunctionAlreadyExistError",
    "FunctionNotExistError",
    "PartitionAlreadyExistsError",
    "PartitionNotExistError",
    "PartitionSpecInvalidError",
    "TableAlreadyExistError",
    "TableNotExistError",
    "TableNotPartitionedError",
    "UnknownCatalogOptionError",
    "already_exists",
    "missing_option",
    "name_hint",
    "not_found",
    "plugin_hint",
]


class CatalogError(JobDefinitionError):
    """A catalog does not have an object, or already has it. Flink: ``CatalogException`` and
    subclasses.

    Args:
        reason: what is wrong.
        name: the last part of the object's name, which errors point at.

    Attributes:
        place: position of the name, or of the option that has it as its value, in a statement;
            None if the error does not come from a statement.
    """

    def __init__(self, reason: str, name: str = "") -> None:
        super().__init__(reason, name)
        self.reason, self.name = reason, name
        self.place: SqlPosition | None = None

    def __str__(self) -> str:
        return self.reason if self.place is None else self.place.shown(self.reason)


class UnknownCatalogOptionError(CatalogError):
    """A catalog has no such option. The value of the option is not shown."""


class DatabaseAlreadyExistError(CatalogError):
    """A database of this name exists already. Flink: ``DatabaseAlreadyExistException``."""


class DatabaseNotEmptyError(CatalogError):
    """A database that is to be dropped is not empty. Flink: ``DatabaseNotEmptyException``."""


class DatabaseNotExistError(CatalogError):
    """No database has this name. Flink: ``DatabaseNotExistException``."""


class FunctionAlreadyExistError(CatalogError):
    """A function of this name exists already. Flink: ``FunctionAlreadyExistException``."""


class FunctionNotExistError(CatalogError):
    """No function has this name. Flink: ``FunctionNotExistException``."""


class PartitionAlreadyExistsError(CatalogError):
    """A table has this partition already. Flink: ``PartitionAlreadyExistsException``."""


class PartitionNotExistError(CatalogError):
    """A table does not have this partition. Flink: ``PartitionNotExistException``."""


class PartitionSpecInvalidError(CatalogError):
    """The columns of a partition are not the partition columns of its table. Flink:
    ``PartitionSpecInvalidException``."""


class TableAlreadyExistError(CatalogError):
    """A table or view of this name exists already. Flink: ``TableAlreadyExistException``."""


class TableNotExistError(CatalogError):
    """No table or view has this name. Flink: ``TableNotExistException``."""


class TableNotPartitionedError(CatalogError):
    """A table with partitions is needed, and the table has none. Flink:
    ``TableNotPartitionedException``."""


_MISSING: dict[str, type[CatalogError]] = {
    "database": DatabaseNotExistError,
    "function": FunctionNotExistError,
    "partition": PartitionNotExistError,
    "partition column": PartitionSpecInvalidError,
    "table": TableNotExistError,
    "temporary table": TableNotExistError,
    "temporary view": TableNotExistError,
    "view": TableNotExistError,
}
"""Errors for missing objects by the kind of object."""
_EXISTING: dict[str, type[CatalogError]] = {
    "database": DatabaseAlreadyExistError,
    "function": FunctionAlreadyExistError,
    "partition": PartitionAlreadyExistsError,
    "table": TableAlreadyExistError,
    "table or view": TableAlreadyExistError,
    "temporary function": FunctionAlreadyExistError,
    "temporary system function": FunctionAlreadyExistError,
    "temporary table or view": TableAlreadyExistError,
    "view": TableAlreadyExistError,
    "view or temporary table": TableAlreadyExistError,
}
"""Errors for existing objects by the kind of object."""


def not_found(kind: str, name: object, names: Iterable[str]) -> CatalogError:
    """Error for a name that does not exist.

    >>> str(not_found("table", "ordres", ["orders", "users"]))
    "there is no table ordres; did you mean 'orders'?"
    """
    last = _last(name)
    error = _MISSING.get(kind, CatalogError)
    return error(f"there is no {kind} {name}{name_hint(last, names)}", last)


def name_hint(name: str, names: Iterable[str]) -> str:
    """End of a message about a missing name: the nearest name, or all names.

    >>> name_hint("jsn", ["csv", "json"]), name_hint("x", ["csv", "json"])
    ("; did you mean 'json'?", '; there are csv, json')
    """
    known = list(names)
    listed = ", ".join(sorted(known)[:20]) or "none"
    return did_you_mean(name, known, f"there are {listed}")


def plugin_hint(name: str, plugins: Plugins[Any]) -> str:
    """`name_hint` for names of plugins, with the entry point group under which installed
    packages add more."""
    hint = name_hint(name, plugins)
    if hint.endswith("?"):
        return hint
    return f"{hint} (installed packages add others by the entry point group {plugins.group})"


def already_exists(kind: str, name: object) -> CatalogError:
    """Error for a name that exists already."""
    return _EXISTING.get(kind, CatalogError)(
        f"there is a {kind} {name} already; drop it, use another name, or write IF NOT EXISTS",
        _last(name),
    )


def _last(name: object) -> str:
    return str(name).replace("`", "").rpartition(".")[2]


def missing_option(
    owner: str, key: str, options: Iterable[str], values: Iterable[str]
) -> CatalogError:
    """Error for a missing required option; if a given option has a similar name, the error suggests
    a misspelling.

    >>> str(missing_option("a table", "connector", ["conector"], ["kafka", "print"]))
    "a table needs the option 'connector'; is 'conector' a misspelling of it?"
    """
    near = nearest_name(key, options)
    if near is not None:
        reason = f"{owner} needs the option {key!r}; is {near!r} a misspelling of it?"
        return CatalogError(reason, near)
    return CatalogError(f"{owner} needs the option {key!r}; given are {', '.join(sorted(values))}")
