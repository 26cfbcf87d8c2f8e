"""The registered connectors: their factories by the value of the option ``connector``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from millrace.common.plugins import Plugins
from millrace.planner.execution.table_factory import TableFactory
from millrace.table.catalog.errors import (
    CatalogError,
    missing_option,
    plugin_hint,
)

__all__ = ["CONNECTORS", "factory_of", "register_factory"]


class _OwnConnectors(Mapping[str, TableFactory]):
    """Factories of this package by identifier, each imported at its first use.

    A connector is a module that is named after its identifier (with ``_`` for ``-``) and defines
    the `TableFactory` with that identifier. Other modules of this package define none with one.
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
