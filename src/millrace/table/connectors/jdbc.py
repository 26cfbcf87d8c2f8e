"""Tables of databases: ``'connector' = 'jdbc'``. Flink docs: "JDBC SQL Connector"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.functions.lookup_functions import ScanningLookupFunction
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.common.types.row import INSERT_ONLY, UPSERTS, RowKind
from millrace.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
    JdbcSource,
)
from millrace.connectors.jdbc.changed_rows import change_rows
from millrace.connectors.jdbc.lookup import LookupSettings
from millrace.connectors.jdbc.table_lookup import JdbcTableLookup
from millrace.connectors.jdbc.target_table import TargetTable
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable
from millrace.planner.execution.table_factory import (
    LookupRequest,
    OptionValues,
    Rows,
    ScanRequest,
    SinkRequest,
    TableFactory,
)
from millrace.table.formats.row_type_info import row_type_info

__all__ = ["JdbcFactory"]

URL = ConfigOptions.key("url").string_type().no_default_value()
TABLE = ConfigOptions.key("table-name").string_type().no_default_value()
DRIVER = ConfigOptions.key("driver").string_type().no_default_value()
USER = ConfigOptions.key("username").string_type().no_default_value()
PASSWORD = ConfigOptions.key("password").string_type().no_default_value()
PARTITION = ConfigOptions.key("scan.partition.column").string_type().no_default_value()
PARTITIONS = ConfigOptions.key("scan.partition.num").int_type().no_default_value().at_least(1)
LOWER = ConfigOptions.key("scan.partition.lower-bound").long_type().no_default_value()
UPPER = ConfigOptions.key("scan.partition.upper-bound").long_type().no_default_value()
MAX_ROWS = ConfigOptions.key("sink.buffer-flush.max-rows").int_type().default_value(5000)
MAX_RETRIES = ConfigOptions.key("sink.max-retries").int_type().default_value(3).at_least(0)
GUARANTEE = (
    ConfigOptions.key("sink.delivery-guarantee")
    .string_type()
    .default_value("at-least-once")
    .one_of("at-least-once", "exactly-once")
)

WITHOUT_EFFECT = (
    ConfigOptions.key("connection.max-retry-timeout").duration_type().no_default_value(),
    ConfigOptions.key("scan.auto-commit").boolean_type().no_default_value(),
    ConfigOptions.key("scan.fetch-size").int_type().no_default_value(),
    ConfigOptions.key("sink.buffer-flush.interval").duration_type().no_default_value(),
)
"""Taken for programs of Flink: every epoch writes what it has, and results are streamed."""


class JdbcFactory(TableFactory):
    """Reads a table once, in parallel parts, or by key; writes rows, by primary key if there is
    one."""

    identifier = "jdbc"
    lookup = True
    required = (URL, TABLE)
    optional = (
        DRIVER,
        USER,
        PASSWORD,
        PARTITION,
        PARTITIONS,
        LOWER,
        UPPER,
        MAX_ROWS,
        MAX_RETRIES,
        GUARANTEE,
        *WITHOUT_EFFECT,
    )

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return UPSERTS if table.primary_key else INSERT_ONLY

    def repeats_writes(self, table: ResolvedTable, options: Mapping[str, str]) -> bool:
        return bool(table.primary_key) and options.get(GUARANTEE.key) != "exactly-once"

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        _require_columns(request.table)
        builder = JdbcSource.builder().set_connection_options(_connection(options))
        builder.set_table(options.get(TABLE)).set_columns(*request.columns.names)
        column, parts = options.get(PARTITION), options.get(PARTITIONS)
        if (column is None) != (parts is None):
            raise JobDefinitionError(
                f"table {'.'.join(request.table.path)}: 'scan.partition.column' and "
                "'scan.partition.num' must be set together"
            )
        if column is not None:
            builder.set_split_column(column, parts)
        return builder.build()

    def create_lookup(
        self, request: LookupRequest, options: OptionValues
    ) -> ScanningLookupFunction:
        _require_columns(request.table)
        settings = LookupSettings(
            _connection(options),
            options.get(TABLE),
            request.keys,
            request.columns.names,
            max_retries=1,  # a connection that was idle for too long; the join has its own
        )
        return JdbcTableLookup(settings)

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        _require_columns(request.table)
        rows = options.get(MAX_ROWS) or 5000  # Flink's 0 stands for no limit
        execution = JdbcExecutionOptions.builder().with_batch_size(rows)
        execution.with_max_retries(options.get(MAX_RETRIES))
        builder = JdbcSink.builder().with_table(options.get(TABLE))
        builder.with_type_info(row_type_info(request.columns, "a database"))
        builder.with_key(*request.table.primary_key).with_execution_options(execution.build())
        if options.get(GUARANTEE) == "exactly-once":
            return builder.build_exactly_once(_connection(options))
        return builder.build_at_least_once(_connection(options))

    def truncate(self, table: ResolvedTable, options: OptionValues) -> None:
        self.delete_rows(table, options, None)

    def delete_rows(
        self,
        table: ResolvedTable,
        options: OptionValues,
        keys: Rows | None,
        read: int | None = None,
    ) -> None:
        target = TargetTable(options.get(TABLE), table.primary_key, table.primary_key)
        change_rows(_connection(options), target, keys, deletes=True)

    def update_rows(
        self, table: ResolvedTable, options: OptionValues, rows: Rows, read: int | None = None
    ) -> None:
        target = TargetTable(options.get(TABLE), table.sink_type.names, table.primary_key)
        change_rows(_connection(options), target, rows, deletes=False)


def _connection(options: OptionValues) -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(options.get(URL))
    if options.get(DRIVER) is not None:
        builder.with_driver_name(options.get(DRIVER))
    if options.get(USER) is not None:
        builder.with_user_name(options.get(USER))
    if options.get(PASSWORD) is not None:
        builder.with_password(options.get(PASSWORD))
    return builder.build()


def _require_columns(table: ResolvedTable) -> None:
    for column in table.columns:
        if column.kind is ColumnKind.METADATA:
            raise JobDefinitionError(
                f"table {'.'.join(table.path)}: 'connector' = 'jdbc' has no metadata, but "
                f"the column {column.name} requests metadata"
            )
