"""Tables of Delta Lake: ``'connector' = 'delta'``. Names of options: Delta's Flink connector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.common.types.row import ALL_ROW_KINDS, INSERT_ONLY, RowKind
from millrace.connectors.bucket_assigner import NO_VALUE
from millrace.connectors.delta import DeltaSink, DeltaSource
from millrace.connectors.delta.changed_rows import change_rows
from millrace.connectors.delta.table import DeltaOptions
from millrace.filesystem.registry import resolved
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

__all__ = ["DeltaFactory"]

PATH = ConfigOptions.key("table-path").string_type().no_default_value()
MODE = ConfigOptions.key("mode").string_type().default_value("batch").one_of("batch", "streaming")
STARTING_VERSION = ConfigOptions.key("startingVersion").int_type().no_default_value().at_least(0)
INTERVAL = ConfigOptions.key("updateCheckIntervalMillis").int_type().default_value(1000).at_least(1)
CHANGES = ConfigOptions.key("readChangeFeed").boolean_type().default_value(False)

_STORAGE = "storage."


class DeltaFactory(LakeTableFactory):
    """Reads a table, or follows its versions; appends rows, or upserts them by primary key."""

    identifier = "delta"
    required = (PATH,)
    optional = (MODE, STARTING_VERSION, INTERVAL, CHANGES)
    prefixes = (_STORAGE,)
    change_rows = staticmethod(change_rows)

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        streaming = options.get(MODE.key, "").lower() == "streaming"
        return Boundedness.CONTINUOUS_UNBOUNDED if streaming else Boundedness.BOUNDED

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        told = options.get(CHANGES.key, "").lower() == "true"
        return ALL_ROW_KINDS if told else INSERT_ONLY

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        require_physical(request.table, self.identifier)
        return DeltaSource(
            options.get(PATH),
            options.get(STARTING_VERSION),
            request.batch or options.get(MODE).lower() == "batch",
            options.get(INTERVAL),
            _storage(options),
        )

    def partitions(self, table: ResolvedTable, options: OptionValues) -> list[tuple[str, ...]]:
        partitions = self.lake_options(table, options).open().partitions()
        columns = table.partition_keys
        return [
            tuple(str(partition[name] or NO_VALUE) for name in columns) for partition in partitions
        ]

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        require_physical(request.table, self.identifier)
        return DeltaSink(
            options.get(PATH),
            stored_type(request.columns),
            request.table.partition_keys,
            request.table.primary_key or None,
            _storage(options),
        )

    def version(self, table: ResolvedTable, options: OptionValues) -> int | None:
        return self.lake_options(table, options).open().version()

    def lake_options(self, table: ResolvedTable, options: OptionValues) -> DeltaOptions:
        return DeltaOptions(resolved(options.get(PATH)), _storage(options))


def _storage(options: OptionValues) -> dict[str, str] | None:
    storage = {
        key.removeprefix(_STORAGE): value
        for key, value in options.values.items()
        if key.startswith(_STORAGE)
    }
    return storage or None
