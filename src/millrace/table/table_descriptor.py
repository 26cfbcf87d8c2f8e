"""`TableDescriptor`: schema, connector and options of a table that a program declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import as_text
from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.base_type import literal as sql_text
from millrace.common.types.logical.logical_type import quoted
from millrace.table.catalog.catalog_objects import CatalogTable
from millrace.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor", "described_table"]


def _key(key: ConfigOption[Any] | str) -> str:
    return key if isinstance(key, str) else key.key


@dataclass(frozen=True)
class FormatDescriptor:
    """A format and its options. Flink: ``FormatDescriptor``.

    Example:
        >>> FormatDescriptor.for_format("csv").option("field-delimiter", ";").build().options
        {'field-delimiter': ';'}
    """

    format: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        pairs = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.format}[{{{pairs}}}]"

    def get_format(self) -> str:
        """Name of the format."""
        return self.format

    def get_options(self) -> dict[str, str]:
        """Options of the format, without its name as a prefix."""
        return dict(self.options)

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """A builder of a format."""
        return FormatDescriptor.Builder(format)

    class Builder:
        """Adds options to a format."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: ConfigOption[Any] | str, value: Any) -> FormatDescriptor.Builder:
            """Set an option, without the format's name as a prefix."""
            self._options[_key(key)] = as_text(value)
            return self

        def build(self) -> FormatDescriptor:
            """The format."""
            return FormatDescriptor(self._format, dict(self._options))


@dataclass(frozen=True)
class TableDescriptor:
    """An unnamed table. Flink: ``TableDescriptor``.

    Example:
        >>> table = TableDescriptor.for_connector("datagen").option("number-of-rows", "3").build()
        >>> table.options
        {'connector': 'datagen', 'number-of-rows': '3'}
    """

    schema: Schema | None
    options: Mapping[str, str]
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None

    def __str__(self) -> str:
        """The part of CREATE TABLE after the name."""
        parts = [str(self.schema or "")]
        if self.comment is not None:
            parts.append(f"COMMENT {sql_text(self.comment)}")
        if self.partition_keys:
            parts.append(f"PARTITIONED BY ({', '.join(map(quoted, self.partition_keys))})")
        options = [f"  {sql_text(k)} = {sql_text(v)}" for k, v in self.options.items()]
        parts.append("WITH (\n" + ",\n".join(options) + "\n)")
        return "\n".join(filter(None, parts))

    def get_schema(self) -> Schema | None:
        """Columns, watermark and primary key, as declared."""
        return self.schema

    def get_options(self) -> dict[str, str]:
        """Options in the WITH clause."""
        return dict(self.options)

    def get_partition_keys(self) -> list[str]:
        """Names of the partition columns."""
        return list(self.partition_keys)

    def get_comment(self) -> str | None:
        """The table's comment."""
        return self.comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """A builder of a table of a connector."""
        return TableDescriptor.Builder(connector)

    class Builder:
        """Adds schema and options to a table."""

        def __init__(self, connector: str) -> None:
            self._options = {"connector": connector}
            self._schema: Schema | None = None
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Set columns, watermark and primary key."""
            self._schema = schema
            return self

        def option(self, key: ConfigOption[Any] | str, value: Any) -> TableDescriptor.Builder:
            """Set an option."""
            self._options[_key(key)] = as_text(value)
            return self

        def format(
            self,
            format: FormatDescriptor | str,
            format_option: ConfigOption[Any] | str = "format",
        ) -> TableDescriptor.Builder:
            """Set the format, with its options."""
            made = FormatDescriptor(format) if isinstance(format, str) else format
            prefix = _key(format_option).removesuffix("format") + made.format
            self._options[_key(format_option)] = made.format
            for key, value in made.options.items():
                self._options[f"{prefix}.{key}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Set the partition columns."""
            self._partition_keys = partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Set the table's comment."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """The descriptor."""
            return TableDescriptor(
                self._schema, dict(self._options), self._partition_keys, self._comment
            )


def described_table(descriptor: TableDescriptor) -> CatalogTable:
    """The table that a descriptor describes.

    Raises:
        JobDefinitionError: the descriptor has no schema.
    """
    if descriptor.schema is None:
        raise JobDefinitionError("a table needs a schema: TableDescriptor.Builder.schema()")
    return CatalogTable(
        descriptor.schema, descriptor.options, descriptor.partition_keys, descriptor.comment
    )
