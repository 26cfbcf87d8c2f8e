"""Generated rows: ``'connector' = 'datagen'``. Flink docs: "DataGen SQL Connector"."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.source import Boundedness, Source
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.connectors.data_generator import DataGeneratorSource
from millrace.connectors.generated_rows import (
    SEQUENCES,
    GeneratedRows,
    inner_fields,
    sequence_bound,
)
from millrace.connectors.rate_limiter import RateLimiterStrategy
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import OptionValues, ScanRequest, TableFactory

__all__ = ["DataGenFactory"]

ROWS_PER_SECOND = ConfigOptions.key("rows-per-second").long_type().default_value(10_000).at_least(1)
NUMBER_OF_ROWS = ConfigOptions.key("number-of-rows").long_type().no_default_value().at_least(0)
SPLITS = 8


class DataGenFactory(TableFactory):
    """Source of sequences and random values. A bounded table is generated at full speed unless
    ``rows-per-second`` is set."""

    identifier = "datagen"
    optional = (ROWS_PER_SECOND, NUMBER_OF_ROWS)

    def column_options(self, table: ResolvedTable) -> Iterable[ConfigOption[Any]]:
        for field in table.scan_type.fields:
            yield from _field_options(f"fields.{field.name}", field.type)

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        values = self.options_of(table, options)
        bounded = _count(values, table.scan_type) is not None
        return Boundedness.BOUNDED if bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        count = _count(options, request.table.scan_type)
        if request.limit is not None and not request.filter:
            count = request.limit if count is None else min(count, request.limit)
        rate = None
        if count is None or ROWS_PER_SECOND.key in options.values:
            rate = RateLimiterStrategy.per_second(options.get(ROWS_PER_SECOND))
        generate = GeneratedRows(request.columns, options.values, time.time_ns() // 1_000_000)
        return DataGeneratorSource(None, count, rate, columns=generate, splits=SPLITS)


def _field_options(prefix: str, kind: LogicalType) -> Iterable[ConfigOption[Any]]:
    def key(name: str) -> Any:
        return ConfigOptions.key(f"{prefix}.{name}")

    yield key("kind").string_type().default_value("random").one_of("random", "sequence")
    yield key("null-rate").float_type().default_value(0.0)
    if isinstance(kind, (logical.IntegralType, logical.DecimalType)):
        yield from (key(name).string_type().no_default_value() for name in ("min", "max"))
    elif isinstance(kind, (logical.FloatType, logical.DoubleType)):
        yield from (key(name).float_type().no_default_value() for name in ("min", "max"))
    if isinstance(kind, SEQUENCES):
        yield from (key(name).long_type().no_default_value() for name in ("start", "end"))
    yield key("length").int_type().default_value(100).at_least(1)
    yield key("var-len").boolean_type().default_value(False)
    yield key("max-past").duration_type().no_default_value()
    for name, inner in inner_fields(kind):
        yield from _field_options(f"{prefix}.{name}", inner)


def _count(options: OptionValues, row_type: RowType) -> int | None:
    """Number of rows: the requested one, at most that of the shortest sequence."""
    counts = [options.get(NUMBER_OF_ROWS)]
    for field in row_type.fields:
        prefix = f"fields.{field.name}"
        if options.values.get(f"{prefix}.kind", "random").lower() == "sequence":
            first, last = (
                sequence_bound(options.values, prefix, name) for name in ("start", "end")
            )
            counts.append(last - first + 1)
    known = [count for count in counts if count is not None]
    return max(0, min(known)) if known else None
