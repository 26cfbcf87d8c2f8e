"""Which connectors there are, and the access to tables that their factories give."""

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
    """Make a connector of one's own known by its identifier."""
    _FACTORIES[factory.identifier] = factory


def factory_of(options: Mapping[str, str]) -> TableFactory:
    """The factory that a table's option ``connector`` names.

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
    """Sources, look-ups and sinks of a table by its options: a `TableAccess`. All are equal."""

    def create_source(self, request: ScanRequest) -> Source[Any]:
        """The source that the table's connector makes."""
        factory = factory_of(request.options)
        return factory.create_source(request, factory.options_of(request.table, request.options))

    def create_lookup(self, request: LookupRequest) -> LookupFunction | AsyncLookupFunction:
        """The look-up that the table's connector makes."""
        factory = factory_of(request.options)
        return factory.create_lookup(request, factory.options_of(request.table, request.options))

    def create_sink(self, request: SinkRequest) -> Sink[Any]:
        """The sink that the table's connector makes."""
        factory = factory_of(request.options)
        if request.overwrite and not factory.overwrite:
            raise factory.refused(
                request.table,
                "overwritten: INSERT OVERWRITE needs a connector that replaces what is there, as "
                "'filesystem' does in batch mode; with others TRUNCATE TABLE, then INSERT INTO",
            )
        return factory.create_sink(request, factory.options_of(request.table, request.options))

    def replacing(self, request: SinkRequest) -> Callable[[], None]:
        """What the table's connector does after an INSERT OVERWRITE."""
        factory = factory_of(request.options)
        return factory.replacing(request, factory.options_of(request.table, request.options))

    def partitions(self, table: ResolvedTable) -> list[tuple[str, ...]]:
        """Ask the table's connector for its partitions."""
        factory = factory_of(table.options)
        return factory.partitions(table, factory.options_of(table, table.options))

    def truncate(self, table: ResolvedTable) -> None:
        """Have the table's connector delete all rows."""
        factory = factory_of(table.options)
        factory.truncate(table, factory.options_of(table, table.options))

    def version(self, table: ResolvedTable) -> int | None:
        """Ask the table's connector what the table is at."""
        factory = factory_of(table.options)
        return factory.version(table, factory.options_of(table, table.options))

    def delete_rows(
        self, table: ResolvedTable, keys: Sequence[tuple[Any, ...]] | None, read: int | None = None
    ) -> None:
        """Have the table's connector delete rows."""
        factory = factory_of(table.options)
        factory.delete_rows(table, factory.options_of(table, table.options), keys, read)

    def update_rows(
        self, table: ResolvedTable, rows: Sequence[tuple[Any, ...]], read: int | None = None
    ) -> None:
        """Have the table's connector replace rows."""
        factory = factory_of(table.options)
        factory.update_rows(table, factory.options_of(table, table.options), rows, read)
