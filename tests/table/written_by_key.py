"""Tables for laws about lost epochs: one that is written by key and at once, and dies at a chosen
write, and ones whose rows change. `register` makes the connectors known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from millrace.common.config.config_options import ConfigOptions
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.source import Source
from millrace.common.types.batch import RowBatch
from millrace.common.types.logical.arrow_type import arrow_schema
from millrace.common.types.row import ALL_ROW_KINDS, UPSERTS, RowKind
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import (
    OptionValues,
    ScanRequest,
    SinkRequest,
    TableFactory,
)
from millrace.table.connectors.registry import register_factory
from millrace.table_runtime.record_batch_source import RecordBatchSource

__all__ = ["CHANGES", "ROWS", "TOUCHED", "UPSERTED", "WRITTEN", "Death", "register"]

WRITTEN = (
    "CREATE TABLE written (r STRING NOT NULL, x STRING, PRIMARY KEY (r) NOT ENFORCED) "
    "WITH ('connector' = 'written-by-key')"
)
ROWS: dict[str, str | None] = {}
"""Rows of the table that is written, by key."""
UPSERTED: set[str] = set()
"""Keys that had a row at any time."""
TOUCHED: set[str] = set()
"""Keys that were written or deleted."""
CHANGES: dict[str, list[tuple[RowKind, tuple[Any, ...]]]] = {}
"""Changes of the tables that are read, by name."""


KINDS = ConfigOptions.key("kinds").string_type().no_default_value()
"""Kinds of the changes of a table that is read; all unless set."""


class Death:
    """What ends a run: the number of rows that are still written. None if it is not to end."""

    left: int | None = None
    struck = False


class _Writer(SinkWriter[Any]):
    def write(self, batch: RowBatch[Any]) -> None:
        for row in batch.values:
            if Death.left == 0:
                Death.struck = True
                raise RuntimeError("the writer dies")
            if Death.left is not None:
                Death.left -= 1
            key, text = row
            TOUCHED.add(key)
            if row.get_row_kind() is RowKind.DELETE:
                ROWS.pop(key, None)
            else:
                UPSERTED.add(key)
                ROWS[key] = text


class _Written(Sink[Any]):
    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return _Writer()


class _WrittenFactory(TableFactory):
    identifier = "written-by-key"

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return UPSERTS

    def repeats_writes(self, table: ResolvedTable, options: Mapping[str, str]) -> bool:
        return True

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        return _Written()


class _ChangingFactory(TableFactory):
    identifier = "changing"
    optional = (KINDS,)

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        shown = options.get(KINDS.key)
        return (
            ALL_ROW_KINDS if shown is None else frozenset(map(RowKind.__getitem__, shown.split()))
        )

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        changes = CHANGES[request.table.path[-1]]
        names = [field.name for field in request.table.scan_type.fields]
        schema = arrow_schema(request.columns)
        columns = [
            pa.array([row[names.index(field.name)] for _, row in changes], field.type)
            for field in schema
        ]
        kinds = pa.array([kind.value for kind, _ in changes], pa.int8())
        return RecordBatchSource(pa.RecordBatch.from_arrays(columns, schema=schema), kinds)


def register() -> None:
    """Make the connectors known."""
    register_factory(_WrittenFactory())
    register_factory(_ChangingFactory())
