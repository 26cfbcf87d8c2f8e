"""Rows on the terminal: ``'connector' = 'print'``. Flink docs: "Print SQL Connector"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.sink import Sink
from millrace.common.types.row import ALL_ROW_KINDS, RowKind
from millrace.connectors.printed_rows import PrintSink
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import OptionValues, SinkRequest, TableFactory

__all__ = ["PrintFactory"]

IDENTIFIER = ConfigOptions.key("print-identifier").string_type().no_default_value()
STANDARD_ERROR = ConfigOptions.key("standard-error").boolean_type().default_value(False)


class PrintFactory(TableFactory):
    """Prints rows as ``+I[1, a]``, after the identifier and the subtask's number if there are
    several."""

    identifier = "print"
    optional = (IDENTIFIER, STANDARD_ERROR)

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        return PrintSink(
            request.columns, options.get(IDENTIFIER), bool(options.get(STANDARD_ERROR))
        )

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return ALL_ROW_KINDS
