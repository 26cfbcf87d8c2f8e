"""The sink that drops all rows: ``'connector' = 'blackhole'``. Flink docs: "BlackHole SQL
Connector"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.sink import Sink
from millrace.common.types.row import ALL_ROW_KINDS, RowKind
from millrace.connectors.black_hole import BlackHoleSink
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import OptionValues, SinkRequest, TableFactory

__all__ = ["BlackHoleFactory"]


class BlackHoleFactory(TableFactory):
    """Sink that drops all rows, to measure the operators before it."""

    identifier = "blackhole"

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        return BlackHoleSink()

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return ALL_ROW_KINDS
