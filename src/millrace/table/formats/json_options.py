"""`JsonOptions`: the options of all JSON formats. Flink: ``JsonFormatOptions``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.types.logical.logical_type import RowType
from millrace.formats.table_json import JsonStyle, TableJsonSerializationSchema

__all__ = ["JsonOptions"]


class JsonOptions:
    """Options of one format.

    Args:
        identifier: value of the option ``format``, and first part of the keys of the format's
            options.

    Attributes:
        ignores: option that skips messages that cannot be read.
    """

    def __init__(self, identifier: str) -> None:
        def key(name: str) -> Any:
            return ConfigOptions.key(f"{identifier}.{name}")

        self.ignores: ConfigOption[bool] = (
            key("ignore-parse-errors").boolean_type().default_value(False)
        )
        self._timestamps = (
            key("timestamp-format.standard")
            .string_type()
            .default_value("SQL")
            .one_of("SQL", "ISO-8601")
        )
        self._null_keys = (
            key("map-null-key.mode")
            .string_type()
            .default_value("FAIL")
            .one_of("FAIL", "DROP", "LITERAL")
        )
        self._null_key = key("map-null-key.literal").string_type().default_value("null")
        self._plain = key("encode.decimal-as-plain-number").boolean_type().default_value(False)
        self._no_nulls = key("encode.ignore-null-fields").boolean_type().default_value(False)

    @property
    def all(self) -> tuple[ConfigOption[Any], ...]:
        """All options."""
        return (
            *(self.ignores, self._timestamps, self._null_keys, self._null_key),
            *(self._plain, self._no_nulls),
        )

    def serializer(
        self, columns: RowType, read: Callable[[ConfigOption[Any]], Any]
    ) -> TableJsonSerializationSchema:
        """Serializer of rows with a table's options."""
        style = JsonStyle(
            iso_timestamps=read(self._timestamps).upper() == "ISO-8601",
            null_keys=read(self._null_keys).upper(),
            null_key_literal=read(self._null_key),
            plain_decimals=read(self._plain),
            leaves_nulls_out=read(self._no_nulls),
        )
        return TableJsonSerializationSchema(columns, style)
