"""Tables of Apache Iceberg: ``'connector' = 'iceberg'``. Names of options: Iceberg's Flink
connector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.connectors.iceberg import IcebergSink, IcebergSource
from millrace.connectors.iceberg.changed_rows import change_rows
from millrace.connectors.iceberg.table import IcebergOptions
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import (
    OptionValues,
    ScanRequest,
    SinkRequest,
)
from millrace.table.connectors.lake_tables import (
    LakeTableFactory,
    require_physical,
    stored_type,
)

__all__ = ["IcebergFactory"]

CATALOG = ConfigOptions.key("catalog-name").string_type().no_default_value()
TYPE = ConfigOptions.key("catalog-type").string_type().no_default_value()
DATABASE = ConfigOptions.key("catalog-database").string_type().default_value("default")
TABLE = ConfigOptions.key("catalog-table").string_type().no_default_value()
URI = ConfigOptions.key("uri").string_type().no_default_value()
WAREHOUSE = ConfigOptions.key("warehouse").string_type().no_default_value()
STREAMING = ConfigOptions.key("streaming").boolean_type().default_value(False)
INTERVAL = ConfigOptions.key("monitor-interval").duration_type().no_default_value()
START = ConfigOptions.key("start-snapshot-id").long_type().no_default_value()

_CATALOG = "catalog."


class IcebergFactory(LakeTableFactory):
    """Reads a table, or follows its appends; appends rows, or upserts them by primary key."""

    identifier = "iceberg"
    required = (CATALOG,)
    optional = (TYPE, DATABASE, TABLE, URI, WAREHOUSE, STREAMING, INTERVAL, START)
    prefixes = (_CATALOG,)
    change_rows = staticmethod(change_rows)

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        streaming = options.get(STREAMING.key, "").lower() == "true"
        return Boundedness.CONTINUOUS_UNBOUNDED if streaming else Boundedness.BOUNDED

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        require_physical(request.table, self.identifier)
        interval = options.get(INTERVAL)
        return IcebergSource(
            _name(request.table, options),
            _catalog(options),
            options.get(START),
            request.batch or not options.get(STREAMING),
            1000 if interval is None else interval.to_millis(),
        )

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        require_physical(request.table, self.identifier)
        return IcebergSink(
            _name(request.table, options),
            _catalog(options),
            stored_type(request.columns),
            request.table.partition_keys,
            request.table.primary_key or None,
        )

    def version(self, table: ResolvedTable, options: OptionValues) -> int | None:
        snapshot = self.lake_options(table, options).open().current_snapshot()
        return None if snapshot is None else snapshot.snapshot_id

    def lake_options(self, table: ResolvedTable, options: OptionValues) -> IcebergOptions:
        return IcebergOptions(_name(table, options), _catalog(options))


def _name(table: ResolvedTable, options: OptionValues) -> str:
    return f"{options.get(DATABASE)}.{options.get(TABLE) or table.path[-1]}"


def _catalog(options: OptionValues) -> dict[str, str]:
    """Catalog properties for pyiceberg from the table's options; pyiceberg takes other
    properties from its own configuration."""
    given = {"name": options.get(CATALOG), "type": options.get(TYPE)}
    given |= {"uri": options.get(URI), "warehouse": options.get(WAREHOUSE)}
    given |= {
        key.removeprefix(_CATALOG): value
        for key, value in options.values.items()
        if key.startswith(_CATALOG)
    }
    return {key: value for key, value in given.items() if value is not None}
