"""The registered connectors, and access to tables through their factories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

_PACKAGE = "millrace.table.connectors"
CONNECTORS: Plugins[TableFactory] = Plugins(
    "millrace.connectors",
    TableFactory,
    "connector",
    {
        "blackhole": f"{_PACKAGE}.blackhole:BlackHoleFactory",
        "datagen": f"{_PACKAGE}.datagen:DataGenFactory",
        "delta": f"{_PACKAGE}.delta:DeltaFactory",
        "filesystem": f"{_PACKAGE}.filesystem:FileSystemFactory",
        "iceberg": f"{_PACKAGE}.iceberg:IcebergFactory",
        "jdbc": f"{_PACKAGE}.jdbc:JdbcFactory",
        "kafka": f"{_PACKAGE}.kafka:KafkaFactory",
        "print": f"{_PACKAGE}.print:PrintFactory",
        "python": f"{_PACKAGE}.python_objects:PythonFactory",
        "spark": f"{_PACKAGE}.spark:SparkFactory",
        "upsert-kafka": f"{_PACKAGE}.upsert_kafka:UpsertKafkaFactory",
    },
    CatalogError,
)
"""By the value of the option ``connector``."""


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
