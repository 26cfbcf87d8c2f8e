"""`GeneratedRows`: rows of sequences and random values, for the connector ``datagen``."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Duration
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.connectors import random_columns as columns
from millrace.table_runtime.columns import schema_of

__all__ = ["SEQUENCES", "GeneratedRows", "inner_fields", "sequence_bound"]

SEQUENCES = (logical.IntegralType, logical.CharType, logical.VarCharType, logical.DecimalType)
"""Types of columns that a sequence can have."""


class GeneratedRows:
    """Generates the rows whose numbers are given, as columns."""

    def __init__(self, row_type: RowType, options: Mapping[str, str], now: int) -> None:
        self._row_type, self._options, self._now = row_type, options, now

    def __call__(self, numbers: range) -> Any:
        import numpy as np
        import pyarrow as pa

        if not hasattr(self, "_columns"):
            self._schema = schema_of(self._row_type)
            self._columns = [
                _column(f"fields.{field.name}", field.type, self._options, self._now)
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


def inner_fields(kind: LogicalType) -> list[tuple[str, LogicalType]]:
    """Names and types of the values inside a value of a nested type; empty for other types."""
    if isinstance(kind, RowType):
        return [(field.name, field.type) for field in kind.fields]
    if isinstance(kind, logical.MapType):
        return [("key", kind.key_type), ("value", kind.value_type)]
    return [("element", kind.element_type)] if isinstance(kind, logical.ArrayType) else []


def sequence_bound(options: Mapping[str, str], prefix: str, name: str) -> int:
    """The first or last value of a sequence.

    Raises:
        JobDefinitionError: the option is not set.
    """
    text = options.get(f"{prefix}.{name}")
    if text is None:
        raise JobDefinitionError(
            f"'{prefix}.kind' = 'sequence' needs '{prefix}.start' and '{prefix}.end'"
        )
    return int(text)


def _column(prefix: str, kind: LogicalType, options: Mapping[str, str], now: int) -> columns.Column:
    if options.get(f"{prefix}.kind", "random").lower() == "sequence":
        if not isinstance(kind, SEQUENCES):
            raise JobDefinitionError(
                f"'{prefix}.kind' = 'sequence' is not possible for the type {kind}"
            )
        return columns.sequence(kind, sequence_bound(options, prefix, "start"))
    seed = zlib.crc32(prefix.encode()) << 24
    made = _random(prefix, kind, options, now, seed)
    rate = float(options.get(f"{prefix}.null-rate", "0"))
    return columns.with_nulls(made, rate, seed) if rate else made


def _random(
    prefix: str, kind: LogicalType, options: Mapping[str, str], now: int, seed: int
) -> columns.Column:
    def option(name: str, default: str) -> str:
        return options.get(f"{prefix}.{name}", default)

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
    return Duration.parse(text).to_millis()


def _nested(prefix: str, kind: LogicalType, options: Mapping[str, str], now: int) -> columns.Column:
    inner = [
        _column(f"{prefix}.{name}", inner_kind, options, now)
        for name, inner_kind in inner_fields(kind)
    ]
    length = int(options.get(f"{prefix}.length", "3"))
    if isinstance(kind, RowType):
        return columns.structs(kind, inner)
    if isinstance(kind, logical.MapType):
        return columns.maps(kind, inner[0], inner[1], length)
    if type(kind) is logical.ArrayType:
        return columns.lists(kind, inner[0], length)
    raise JobDefinitionError(
        f"'connector' = 'datagen' cannot generate values of type {kind} ({prefix})"
    )
