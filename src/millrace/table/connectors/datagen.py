"""Generated rows: ``'connector' = 'datagen'``. Flink docs: "DataGen SQL Connector"."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness, Source
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.connectors.data_generator import DataGeneratorSource
from millrace.connectors.rate_limiter import RateLimiterStrategy
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import OptionValues, ScanRequest, TableFactory
from millrace.table.connectors import random_columns as columns
from millrace.table_runtime.columns import schema_of

__all__ = ["DataGenFactory"]

ROWS_PER_SECOND = ConfigOptions.key("rows-per-second").long_type().default_value(10_000).at_least(1)
NUMBER_OF_ROWS = ConfigOptions.key("number-of-rows").long_type().no_default_value().at_least(0)
SPLITS = 8
_SEQUENCES = (logical.IntegralType, logical.CharType, logical.VarCharType, logical.DecimalType)


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
        generate = _Generate(request.columns, options.values, time.time_ns() // 1_000_000)
        return DataGeneratorSource(None, count, rate, columns=generate, splits=SPLITS)


class _Generate:
    """Generates the rows whose numbers are given, as columns."""

    def __init__(self, row_type: RowType, options: Mapping[str, str], now: int) -> None:
        self._row_type, self._options, self._now = row_type, options, now

    def __call__(self, numbers: range) -> Any:
        import numpy as np
        import pyarrow as pa

        if not hasattr(self, "_columns"):
            values = OptionValues(self._options)
            self._schema = schema_of(self._row_type)
            self._columns = [
                _column(f"fields.{field.name}", field.type, values, self._now)
                for field in self._row_type.fields
            ]
        rows = np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.uint64)
        made = [column(rows) for column in self._columns]
        return pa.RecordBatch.from_arrays(made, schema=self._schema)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_columns", None)
        state.pop("_schema", None)
        return state


def _field_options(prefix: str, kind: LogicalType) -> Iterable[ConfigOption[Any]]:
    def key(name: str) -> Any:
        return ConfigOptions.key(f"{prefix}.{name}")

    yield key("kind").string_type().default_value("random").one_of("random", "sequence")
    yield key("null-rate").float_type().default_value(0.0)
    if isinstance(kind, (logical.IntegralType, logical.DecimalType)):
        yield from (key(name).string_type().no_default_value() for name in ("min", "max"))
    elif isinstance(kind, (logical.FloatType, logical.DoubleType)):
        yield from (key(name).float_type().no_default_value() for name in ("min", "max"))
    if isinstance(kind, _SEQUENCES):
        yield from (key(name).long_type().no_default_value() for name in ("start", "end"))
    yield key("length").int_type().default_value(100).at_least(1)
    yield key("var-len").boolean_type().default_value(False)
    yield key("max-past").duration_type().no_default_value()
    for name, inner in _inner(kind):
        yield from _field_options(f"{prefix}.{name}", inner)


def _inner(kind: LogicalType) -> list[tuple[str, LogicalType]]:
    if isinstance(kind, RowType):
        return [(field.name, field.type) for field in kind.fields]
    if isinstance(kind, logical.MapType):
        return [("key", kind.key_type), ("value", kind.value_type)]
    return [("element", kind.element_type)] if isinstance(kind, logical.ArrayType) else []


def _count(options: OptionValues, row_type: RowType) -> int | None:
    """Number of rows: the requested one, at most that of the shortest sequence."""
    counts = [options.get(NUMBER_OF_ROWS)]
    for field in row_type.fields:
        prefix = f"fields.{field.name}"
        if options.values.get(f"{prefix}.kind", "random").lower() == "sequence":
            counts.append(_bound(options, prefix, "end") - _bound(options, prefix, "start") + 1)
    known = [count for count in counts if count is not None]
    return max(0, min(known)) if known else None


def _bound(options: OptionValues, prefix: str, name: str) -> int:
    text = options.values.get(f"{prefix}.{name}")
    if text is None:
        raise JobDefinitionError(
            f"'{prefix}.kind' = 'sequence' needs '{prefix}.start' and '{prefix}.end'"
        )
    return int(text)


def _column(prefix: str, kind: LogicalType, options: OptionValues, now: int) -> columns.Column:
    if options.values.get(f"{prefix}.kind", "random").lower() == "sequence":
        if not isinstance(kind, _SEQUENCES):
            raise JobDefinitionError(
                f"'{prefix}.kind' = 'sequence' is not possible for the type {kind}"
            )
        return columns.sequence(kind, _bound(options, prefix, "start"))
    seed = zlib.crc32(prefix.encode()) << 24
    made = _random(prefix, kind, options, now, seed)
    rate = float(options.values.get(f"{prefix}.null-rate", "0"))
    return columns.with_nulls(made, rate, seed) if rate else made


def _random(
    prefix: str, kind: LogicalType, options: OptionValues, now: int, seed: int
) -> columns.Column:
    def option(name: str, default: str) -> str:
        return options.values.get(f"{prefix}.{name}", default)

    if isinstance(kind, logical.BooleanType):
        return columns.booleans(seed)
    if isinstance(kind, logical.IntegralType):
        low, high = kind.bounds()
        return columns.whole_numbers(
            kind, int(option("min", str(low))), int(option("max", str(high))), seed
        )
    if isinstance(kind, logical.DecimalType):
        limit = 10 ** (kind.precision - kind.scale) - 1
        low_text, high_text = option("min", str(-limit)), option("max", str(limit))
        return columns.real_numbers(kind, float(low_text), float(high_text), seed)
    if isinstance(kind, (logical.FloatType, logical.DoubleType)):
        limit = 3.4e38 if isinstance(kind, logical.FloatType) else 1.7e308
        return columns.real_numbers(
            kind, float(option("min", str(-limit))), float(option("max", str(limit))), seed
        )
    if isinstance(kind, (logical.CharType, logical.BinaryType)):
        return columns.texts(kind, kind.length, False, seed)
    if isinstance(kind, (logical.VarCharType, logical.VarBinaryType)):
        length = min(int(option("length", "100")), kind.length)
        var_len = option("var-len", "false").lower() == "true"
        return columns.texts(kind, length, var_len, seed)
    if isinstance(kind, (logical.DateType, logical.TimeType, *_TIMESTAMPS)):
        return columns.past_times(kind, now, _max_past(option("max-past", "0 ms")), seed)
    return _nested(prefix, kind, options, now)


_TIMESTAMPS = (logical.TimestampType, logical.LocalZonedTimestampType)


def _max_past(text: str) -> int:
    from millrace.common.time.amounts import Duration

    return Duration.parse(text).to_millis()


def _nested(prefix: str, kind: LogicalType, options: OptionValues, now: int) -> columns.Column:
    inner = [_column(f"{prefix}.{name}", each, options, now) for name, each in _inner(kind)]
    length = int(options.values.get(f"{prefix}.length", "3"))
    if isinstance(kind, RowType):
        return columns.structs(kind, inner)
    if isinstance(kind, logical.MapType):
        return columns.maps(kind, inner[0], inner[1], length)
    if type(kind) is logical.ArrayType:
        return columns.lists(kind, inner[0], length)
    raise JobDefinitionError(
        f"'connector' = 'datagen' cannot generate values of type {kind} ({prefix})"
    )
