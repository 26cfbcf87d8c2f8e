"""The registered connectors, and access to tables through their factories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from millrace.common.functions.lookup_functions import AsyncLookupFunction, LookupFunction
from millrace.common.plugins import Plugins
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_access import LookupRequest, ScanRequest, SinkRequest
from millrace.table.catalog.errors import (
    CatalogError,
    missing_option,
    plugin_hint,
)
from millrace.table.connectors.factory import TableFactory

__all__ = ["CONNECTORS", "ConnectorAccess", "factory_of", "register_factory"]


class _OwnConnectors(Mapping[str, TableFactory]):
    """Factories of this package by identifier, each imported at its first use.

    A connector is a module that is named after its identifier (with ``_`` for ``-``) and defines
    the `TableFactory` with that identifier. Other modules of this package define none.
    """

    def __getitem__(self, identifier: str) -> TableFactory:
        factory = _own_factory(identifier)
        if factory is None:
            raise KeyError(identifier)
        return factory

    def __iter__(self) -> Iterator[str]:
        return (identifier for identifier in _modules() if identifier in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@lru_cache(maxsize=1)
def _modules() -> Mapping[str, str]:
    """Modules of this package, by the identifiers that they may have."""
    package = "millrace.table.connectors"
    names = (module.name for module in iter_modules(import_module(package).__path__))
    return {name.replace("_", "-"): f"{package}.{name}" for name in names}


@lru_cache(maxsize=256)
def _own_factory(identifier: str) -> TableFactory | None:
    module = _modules().get(identifier)
    if module is None:
        return None
    classes = (value for value in vars(import_module(module)).values() if isinstance(value, type))
    defined = (kind for kind in classes if kind.__module__ == module)
    factories = (kind for kind in defined if issubclass(kind, TableFactory))
    return next((kind() for kind in factories if kind.identifier == identifier), None)


CONNECTORS: Plugins[TableFactory] = Plugins(
    "millrace.connectors", TableFactory, "connector", _OwnConnectors(), CatalogError
)
"""Factories by the value of the option ``connector``."""


def register_factory(factory: TableFactory) -> None:
    """Register a connector of a program under its identifier."""
    CONNECTORS.register(factory.identifier, factory)


def factory_of(options: Mapping[str, str]) -> TableFactory:
    """The factory of a table's option ``connector``.

    Raises:
        CatalogError: there is no such option, or no such connector.
    """
    identifier = options.get("connector")
    if identifier is None:
        raise missing_option("a table", "connector", options, CONNECTORS)
    if identifier not in CONNECTORS:
        hint = plugin_hint(identifier, CONNECTORS)
        raise CatalogError(f"there is no connector {identifier!r}{hint}", identifier)
    return CONNECTORS[identifier]


@dataclass(frozen=True)
class ConnectorAccess:
    """Sources, look-ups and sinks of a table by its options: a `TableAccess`. All instances are
    equal."""

    def create_source(self, request: ScanRequest) -> Source[Any]:
        """The source of the table's connector."""
        factory = factory_of(request.options)
        return factory.create_source(request, factory.options_of(request.table, request.options))

    def create_lookup(self, request: LookupRequest) -> LookupFunction | AsyncLookupFunction:
        """The look-up of the table's connector."""
        factory = factory_of(request.options)
        return factory.create_lookup(request, factory.options_of(request.table, request.options))

    def repeats_writes(self, table: ResolvedTable, options: Mapping[str, str]) -> bool:
        """Whether the connector's sink writes by key and at least once."""
        return factory_of(options).repeats_writes(table, options)

    def create_sink(self, request: SinkRequest) -> Sink[Any]:
        """The sink of the table's connector."""
        factory = factory_of(request.options)
        if request.overwrite and not factory.overwrite:
            raise factory.refused(
                request.table,
                "overwritten: INSERT OVERWRITE needs a connector that can replace all rows, "
                "such as 'filesystem' in batch mode; with other connectors use TRUNCATE "
                "TABLE, then INSERT INTO",
            )
        return factory.create_sink(request, factory.options_of(request.table, request.options))

    def replacing(self, request: SinkRequest) -> Callable[[], None]:
        """The connector's action after an INSERT OVERWRITE."""
        factory = factory_of(request.options)
        return factory.replacing(request, factory.options_of(request.table, request.options))

    def partitions(self, table: ResolvedTable) -> list[tuple[str, ...]]:
        """The partitions that the table's connector lists."""
        factory = factory_of(table.options)
        return factory.partitions(table, factory.options_of(table, table.options))

    def truncate(self, table: ResolvedTable) -> None:
        """Delete all rows through the table's connector."""
        factory = factory_of(table.options)
        factory.truncate(table, factory.options_of(table, table.options))

    def version(self, table: ResolvedTable) -> int | None:
        """The table's current version, from its connector."""
        factory = factory_of(table.options)
        return factory.version(table, factory.options_of(table, table.options))

    def delete_rows(
        self, table: ResolvedTable, keys: Sequence[tuple[Any, ...]] | None, read: int | None = None
    ) -> None:
        """Delete rows through the table's connector."""
        factory = factory_of(table.options)
        factory.delete_rows(table, factory.options_of(table, table.options), keys, read)

    def update_rows(
        self, table: ResolvedTable, rows: Sequence[tuple[Any, ...]], read: int | None = None
    ) -> None:
        """Replace rows through the table's connector."""
        factory = factory_of(table.options)
        factory.update_rows(table, factory.options_of(table, table.options), rows, read)
