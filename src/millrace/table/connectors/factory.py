"""`TableFactory`: creates sources and sinks of a connector from a table's options.

Flink: ``DynamicTableSourceFactory`` and ``DynamicTableSinkFactory``, with ``FactoryUtil``, whose
checks of options are `checked_options`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.errors import ConfigurationError, JobDefinitionError
from millrace.common.functions.lookup_functions import AsyncLookupFunction, LookupFunction
from millrace.common.similar_names import did_you_mean, nearest_name
from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.lookup_options import LOOKUP_OPTIONS
from millrace.planner.execution.table_access import LookupRequest, ScanRequest, SinkRequest
from millrace.planner.execution.table_options import OptionError, UnknownOptionError

__all__ = ["COMMON_OPTIONS", "OptionValues", "Rows", "TableFactory", "checked_options"]

Rows = Sequence[tuple[Any, ...]]

COMMON_OPTIONS: tuple[ConfigOption[Any], ...] = (
    ConfigOptions.key("connector").string_type().no_default_value(),
    ConfigOptions.key("scan.parallelism").int_type().no_default_value().at_least(1),
    ConfigOptions.key("sink.parallelism").int_type().no_default_value().at_least(1),
    ConfigOptions.key("scan.watermark.idle-timeout").duration_type().no_default_value(),
    ConfigOptions.key("property-version").int_type().no_default_value(),
)
"""Options of every table."""


class OptionValues:
    """The options of a table, read through typed options."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = dict(values)

    def get(self, option: ConfigOption[Any]) -> Any:
        """The value of an option, or its default.

        Raises:
            OptionError: the value is not of the option's type.
        """
        text = self.values.get(option.key)
        if text is None:
            return option.default
        try:
            return option.read(text)
        except ConfigurationError as error:
            raise OptionError(str(error), option.key) from None


class TableFactory:
    """Creates sources and sinks of one connector.

    Attributes:
        identifier: the value of the option ``connector``.
        required, optional: the options there are, beside those of every table.
        prefixes: beginnings of options that are handed on unchecked, such as ``properties.``.
        metadata: keys of metadata columns, with the text of their types.
        lookup: whether rows can be looked up by key (`create_lookup`); such tables have the
            options of `millrace.planner.execution.lookup_options` too.
        overwrite: whether INSERT OVERWRITE can replace rows (`replacing`).
    """

    identifier: ClassVar[str] = ""
    required: ClassVar[tuple[ConfigOption[Any], ...]] = ()
    optional: ClassVar[tuple[ConfigOption[Any], ...]] = ()
    prefixes: ClassVar[tuple[str, ...]] = ()
    metadata: ClassVar[Mapping[str, str]] = {}
    lookup: ClassVar[bool] = False
    overwrite: ClassVar[bool] = False

    def options_of(self, table: ResolvedTable, options: Mapping[str, str]) -> OptionValues:
        """The options of a table, checked.

        Raises:
            JobDefinitionError: one is missing, unknown or wrong.
        """
        known = [
            *self.required,
            *self.optional,
            *self.column_options(table),
            *self.format_options(options),
            *(LOOKUP_OPTIONS if self.lookup else ()),
        ]
        return checked_options(self.identifier, self.required, known, self.prefixes, options)

    def column_options(self, table: ResolvedTable) -> Iterable[ConfigOption[Any]]:
        """Options per column of a table."""
        return ()

    def format_options(self, options: Mapping[str, str]) -> Iterable[ConfigOption[Any]]:
        """Options of the formats that a table names."""
        return ()

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        """See `TableAccess.create_source`; by default a table cannot be read."""
        raise self.refused(request.table, "read: it can only be written")

    def create_lookup(
        self, request: LookupRequest, options: OptionValues
    ) -> LookupFunction | AsyncLookupFunction:
        """See `TableAccess.create_lookup`; by default rows cannot be looked up by key."""
        raise self.refused(request.table, "looked up by key")

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        """See `TableAccess.create_sink`; by default a table cannot be written."""
        raise self.refused(request.table, "written: it can only be read")

    def replacing(self, request: SinkRequest, options: OptionValues) -> Callable[[], None]:
        """See `TableAccess.replacing`; by default the sink itself replaces the rows."""
        return lambda: None

    def partitions(self, table: ResolvedTable, options: OptionValues) -> list[tuple[str, ...]]:
        """See `TableAccess.partitions`; by default a connector cannot list them."""
        raise self.refused(table, "asked for its partitions")

    def truncate(self, table: ResolvedTable, options: OptionValues) -> None:
        """See `TableAccess.truncate`; by default a table cannot be emptied."""
        raise self.refused(table, "emptied by TRUNCATE TABLE")

    def version(self, table: ResolvedTable, options: OptionValues) -> int | None:
        """See `TableAccess.version`; by default a table has none."""
        return None

    def delete_rows(
        self,
        table: ResolvedTable,
        options: OptionValues,
        keys: Rows | None,
        read: int | None = None,
    ) -> None:
        """See `TableAccess.delete_rows`; by default rows cannot be deleted."""
        raise self.refused(table, "changed by DELETE")

    def update_rows(
        self, table: ResolvedTable, options: OptionValues, rows: Rows, read: int | None = None
    ) -> None:
        """See `TableAccess.update_rows`; by default rows cannot be updated."""
        raise self.refused(table, "changed by UPDATE")

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        """The row kinds that the source emits."""
        return INSERT_ONLY

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        """The row kinds that the sink accepts; empty if it accepts all."""
        return frozenset()

    def repeats_writes(self, table: ResolvedTable, options: Mapping[str, str]) -> bool:
        """See `TableAccess.repeats_writes`; by default a sink does not."""
        return False

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        """Whether the source is bounded."""
        return Boundedness.BOUNDED

    def refused(self, table: ResolvedTable, how: str) -> JobDefinitionError:
        """Error for an operation that a table does not support."""
        name = ".".join(table.path)
        return JobDefinitionError(
            f"table {name} ('connector' = '{self.identifier}') cannot be {how}"
        )


def checked_options(
    identifier: str,
    required: Iterable[ConfigOption[Any]],
    known: Iterable[ConfigOption[Any]],
    prefixes: tuple[str, ...],
    options: Mapping[str, str],
) -> OptionValues:
    """The options, if all required ones are present, all are known, and their values are valid.

    Raises:
        OptionError: otherwise; the error about an unknown option names the nearest one.
    """
    by_key = {option.key: option for option in (*COMMON_OPTIONS, *known)}
    values = OptionValues(options)
    for key in options:
        if key in by_key:
            values.get(by_key[key])
        elif not key.startswith(prefixes or ("\0",)):
            raise _unknown(identifier, key, by_key)
    missing = [option.key for option in required if option.key not in options]
    if missing:
        raise _missing(identifier, missing, [key for key in options if key not in by_key])
    return values


def _missing(identifier: str, missing: Sequence[str], others: Sequence[str]) -> OptionError:
    """Error for missing options.

    Args:
        others: given options that the connector hands on unchecked; one of them may be misspelt.
    """
    reason = f"'connector' = '{identifier}' needs the option {', '.join(map(repr, missing))}"
    near = nearest_name(missing[0], others, likeness=0.85)
    if near is None:
        return OptionError(reason, "connector")
    return OptionError(f"{reason}; is {near!r} a misspelling of it?", near)


def _unknown(identifier: str, key: str, known: Iterable[str]) -> UnknownOptionError:
    names = sorted(known)
    hint = did_you_mean(key, names, f"there are {', '.join(names)}")
    return UnknownOptionError(f"'connector' = '{identifier}' has no option {key!r}{hint}", key)
