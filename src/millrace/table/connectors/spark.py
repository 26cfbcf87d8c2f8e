"""Any reader of Spark as a table: ``'connector' = 'spark'``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness, Source
from millrace.common.types.logical.logical_type import RowType
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable
from millrace.planner.execution.table_factory import OptionValues, ScanRequest, TableFactory
from millrace.spark.connector import dataframe_source
from millrace.table.connectors.lake_tables import require_physical

__all__ = ["SparkFactory"]

FORMAT = ConfigOptions.key("spark.format").string_type().no_default_value()
DATABASE = ConfigOptions.key("spark.database").string_type().default_value("default")
TABLE = ConfigOptions.key("spark.table").string_type().no_default_value()
STREAMING = ConfigOptions.key("spark.streaming").boolean_type().default_value(False)
REPEATABLE = ConfigOptions.key("spark.repeatable").boolean_type().default_value(True)
TRIGGER = ConfigOptions.key("spark.trigger.processing-time").string_type().no_default_value()

_OPTION = "spark.option."
_OF_DECLARED_SCHEMA = frozenset({"avro", "csv", "json", "orc", "parquet", "text", "xml"})
"""Formats that are told the columns; others know their own."""


class SparkFactory(TableFactory):
    """Reads through ``spark.read`` or ``spark.readStream``, or from a table of Spark's catalog."""

    identifier = "spark"
    optional = (FORMAT, DATABASE, TABLE, STREAMING, REPEATABLE, TRIGGER)
    prefixes = (_OPTION,)

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        streaming = options.get(STREAMING.key, "").lower() == "true"
        return Boundedness.CONTINUOUS_UNBOUNDED if streaming else Boundedness.BOUNDED

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        require_physical(request.table, self.identifier)
        from millrace.spark.dataframe import read_dataframe

        if options.get(TABLE) is not None:
            frame = _table_of_spark(request, options)
            return dataframe_source(frame, None, repeatable=options.get(REPEATABLE))
        name, trigger = options.get(FORMAT), options.get(TRIGGER)
        streaming = options.get(STREAMING)
        if name is None:
            raise JobDefinitionError(
                f"'connector' = 'spark' needs the option '{FORMAT.key}', or '{TABLE.key}' for a "
                "table of Spark's catalog"
            )
        if trigger is not None and not streaming:
            raise JobDefinitionError(f"'{TRIGGER.key}' needs '{STREAMING.key}' = 'true'")
        given = {
            key.removeprefix(_OPTION): value
            for key, value in options.values.items()
            if key.startswith(_OPTION)
        }
        schema = _schema(request.table) if name.lower() in _OF_DECLARED_SCHEMA else None
        frame = read_dataframe(name, given, schema, request.columns.names, streaming)
        if streaming:
            chosen = None if trigger is None else {"processingTime": trigger}
            return dataframe_source(frame, None, trigger=chosen)
        return dataframe_source(frame, None, repeatable=options.get(REPEATABLE))


def _table_of_spark(request: ScanRequest, options: OptionValues) -> Any:
    """The requested columns of a table of Spark's catalog."""
    from millrace.spark import session_catalog

    for option in (FORMAT, STREAMING, TRIGGER):
        if option.key in options.values:
            raise JobDefinitionError(
                f"'{option.key}' cannot be used with a table of Spark's catalog"
            )
    database, name = options.get(DATABASE), options.get(TABLE)
    frame = session_catalog.table(database, name)
    if frame is None:
        raise JobDefinitionError(f"Spark has no table {name!r} in its database {database!r}")
    return frame.select(*(f"`{column}`" for column in request.columns.names))


def _schema(table: ResolvedTable) -> Any:
    """The declared columns in Arrow's types."""
    from millrace.table_runtime.columns import schema_of

    physical = [column for column in table.columns if column.kind is ColumnKind.PHYSICAL]
    return schema_of(RowType.of(*((column.name, column.type) for column in physical)))
