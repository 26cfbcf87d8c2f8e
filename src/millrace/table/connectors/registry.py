"""The registered connectors, and access to tables through their factories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from millrace.common.functions.lookup_functions import AsyncLookupFunction, LookupFunction
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_access import LookupRequest, ScanRequest, SinkRequest
from millrace.table.catalog.errors import CatalogError, missing_option, name_hint
from millrace.table.connectors.factory import TableFactory

__all__ = ["ConnectorAccess", "factory_of", "register_factory"]

_PACKAGE = "millrace.table.connectors"
_BUILT_IN = {
    "blackhole": ("blackhole", "BlackHoleFactory"),
    "datagen": ("datagen", "DataGenFactory"),
    "delta": ("delta", "DeltaFactory"),
    "filesystem": ("filesystem", "FileSystemFactory"),
    "iceberg": ("iceberg", "IcebergFactory"),
    "jdbc": ("jdbc", "JdbcFactory"),
    "kafka": ("kafka", "KafkaFactory"),
    "print": ("print", "PrintFactory"),
    "python": ("python_objects", "PythonFactory"),
    "spark": ("spark", "SparkFactory"),
    "upsert-kafka": ("upsert_kafka", "UpsertKafkaFactory"),
}
"""Module and class by identifier: imported when a table uses it."""
_FACTORIES: dict[str, TableFactory] = {}


def register_factory(factory: TableFactory) -> None:
    """Register a connector of a program under its identifier."""
    _FACTORIES[factory.identifier] = factory


def factory_of(options: Mapping[str, str]) -> TableFactory:
    """The factory of a table's option ``connector``.

    Raises:
        CatalogError: there is no such option, or no such connector.
    """
    identifier = options.get("connector")
    names = sorted({*_BUILT_IN, *_FACTORIES})
    if identifier is None:
        raise missing_option("a table", "connector", options, names)
    if identifier not in _FACTORIES:
        if identifier not in _BUILT_IN:
            hint = name_hint(identifier, names)
            raise CatalogError(f"there is no connector {identifier!r}{hint}", identifier)
        module, name = _BUILT_IN[identifier]
        _FACTORIES[identifier] = getattr(import_module(f"{_PACKAGE}.{module}"), name)()
    return _FACTORIES[identifier]


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

    def create_sink(self, request: SinkRequest) -> Sink[Any]:
        """The sink of the table's connector."""
        factory = factory_of(request.options)
        if request.overwrite and not factory.overwrite:
            raise factory.refused(
                request.table,
                "overwritten: INSERT OVERWRITE needs a connector that replaces what is there, as "
                "'filesystem' does in batch mode; with others TRUNCATE TABLE, then INSERT INTO",
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
