"""`TableFactory`: creates a connector's sources, look-ups and sinks from a table's options.

The translation of a query asks the factory of a table (`table_factory`). Flink:
``DynamicTableSourceFactory`` and ``DynamicTableSinkFactory``, with ``FactoryUtil``, whose checks of
options are `checked_options`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.errors import ConfigurationError, JobDefinitionError
from millrace.common.functions.lookup_functions import AsyncLookupFunction, LookupFunction
from millrace.common.similar_names import did_you_mean, nearest_name
from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.expressions.resolved import ResolvedExpression
from millrace.job_graph.transformation import Input, Role
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.lookup_options import LOOKUP_OPTIONS
from millrace.planner.execution.table_options import OptionError, UnknownOptionError
from millrace.runtime.operators.timestamps import TimestampsOperator

__all__ = [
    "COMMON_OPTIONS",
    "DataStreamAccess",
    "LookupRequest",
    "OptionValues",
    "Rows",
    "ScanRequest",
    "SinkRequest",
    "TableFactory",
    "checked_options",
    "table_factory",
]

Rows = Sequence[tuple[Any, ...]]

COMMON_OPTIONS: tuple[ConfigOption[Any], ...] = (
    ConfigOptions.key("connector").string_type().no_default_value(),
    ConfigOptions.key("scan.parallelism").int_type().no_default_value().at_least(1),
    ConfigOptions.key("sink.parallelism").int_type().no_default_value().at_least(1),
    ConfigOptions.key("scan.watermark.idle-timeout").duration_type().no_default_value(),
    ConfigOptions.key("property-version").int_type().no_default_value(),
)
"""Options of every table."""


@dataclass(frozen=True)
class ScanRequest:
    """Requirements for a table's source.

    Attributes:
        columns: names and types of the columns to read, a part of the table's ``scan_type``.
        metadata: the connector's name for each metadata column to read.
        options: the table's options, overridden by hints.
        filter: condition over ``columns``; the source may leave out rows that do not satisfy it.
        limit: number of rows that the query needs; None if there is no limit.
        batch: whether the query runs over bounded input for final results.
    """

    table: ResolvedTable
    columns: RowType
    metadata: Mapping[str, str]
    options: Mapping[str, str]
    filter: ResolvedExpression | None = None
    limit: int | None = None
    batch: bool = False


@dataclass(frozen=True)
class LookupRequest:
    """Requirements for a table that is looked up by key.

    Attributes:
        columns: names and types of the columns to read, a part of the table's ``scan_type``.
        keys: names of the columns that keys have a value of; they need not be a primary key.
        options: the table's options, overridden by hints; the connector does not handle the cache.
    """

    table: ResolvedTable
    columns: RowType
    keys: tuple[str, ...]
    options: Mapping[str, str]


@dataclass(frozen=True)
class SinkRequest:
    """Requirements for a table's sink.

    Attributes:
        columns: columns of the written rows (``sink_type``).
        insert_only: whether there are no updates and deletes among the rows.
        upsert_key: names of the columns by which the query's rows are unique; empty if there are
            none.
        ordinal: number of the sink in its job, from 0.
    """

    table: ResolvedTable
    columns: RowType
    options: Mapping[str, str]
    overwrite: bool = False
    partition: tuple[tuple[str, str], ...] = ()
    insert_only: bool = True
    upsert_key: tuple[str, ...] = ()
    batch: bool = False
    ordinal: int = 0


@dataclass(frozen=True)
class DataStreamAccess:
    """A stream of the program that is used as a table: it has no source of its own.

    Attributes:
        inputs: inputs that provide the records.
        changes: the kinds of its rows.
    """

    inputs: tuple[Input, ...]
    changes: frozenset[RowKind]

    @property
    def repeats(self) -> bool:
        """Whether the stream has the same rows if its sources are read again. It may have other
        rows if functions of the program depend on the order of rows, on time or on chance.
        """
        return all(map(_repeats, self.inputs))


def _repeats(one: Input) -> bool:
    made = one.transformation
    if made.role is Role.SOURCE:
        return True
    only_times = isinstance(made.factory, partial) and made.factory.func is TimestampsOperator
    return only_times and all(map(_repeats, made.inputs))


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
        """A source of column batches, rows, dicts or tuples. Their fields match the columns by name
        or by position. By default a table cannot be read.

        Raises:
            JobDefinitionError: the table cannot be read, or an option is wrong.
        """
        raise self.refused(request.table, "read: it can only be written")

    def create_lookup(
        self, request: LookupRequest, options: OptionValues
    ) -> LookupFunction | AsyncLookupFunction:
        """A function that looks up rows by key; called only if `lookup` is set.

        Raises:
            JobDefinitionError: an option is wrong.
        """
        raise self.refused(request.table, "looked up by key")

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        """A sink of column batches, or of rows with their `RowKind`. By default a table cannot be
        written.

        Raises:
            JobDefinitionError: the table cannot be written so, or an option is wrong.
        """
        raise self.refused(request.table, "written: it can only be read")

    def replacing(self, request: SinkRequest, options: OptionValues) -> Callable[[], None]:
        """Prepare an INSERT OVERWRITE before its job runs; the returned function is to be called
        when the job has ended.

        It removes the rows that were there before, as far as the job has replaced them. By default
        the sink itself replaces the rows.
        """
        return lambda: None

    def partitions(self, table: ResolvedTable, options: OptionValues) -> list[tuple[str, ...]]:
        """Partitions that contain data now, as texts of the partition columns' values.

        Raises:
            JobDefinitionError: the connector cannot tell, as by default.
        """
        raise self.refused(table, "asked for its partitions")

    def truncate(self, table: ResolvedTable, options: OptionValues) -> None:
        """Delete all rows of the table.

        Raises:
            JobDefinitionError: the table cannot be emptied, as by default.
        """
        raise self.refused(table, "emptied by TRUNCATE TABLE")

    def version(self, table: ResolvedTable, options: OptionValues) -> int | None:
        """Current version of the table, with which `delete_rows` and `update_rows` detect
        changes by others; None if the table has no versions, as by default."""
        return None

    def delete_rows(
        self,
        table: ResolvedTable,
        options: OptionValues,
        keys: Rows | None,
        read: int | None = None,
    ) -> None:
        """Delete the rows with the given primary keys, all or none of them; with None, every row.

        Args:
            read: the `version` that the keys were found in, or one before it.

        Raises:
            JobDefinitionError: the table's rows cannot be deleted, as by default.
            JobExecutionError: somebody else has changed them since.
        """
        raise self.refused(table, "changed by DELETE")

    def update_rows(
        self, table: ResolvedTable, options: OptionValues, rows: Rows, read: int | None = None
    ) -> None:
        """Replace the rows that have the primary keys of the given rows, all or none of them.

        Args:
            read: the `version` that the rows were made from, or one before it.

        Raises:
            JobDefinitionError: the table's rows cannot be updated, as by default.
            JobExecutionError: somebody else has changed them since.
        """
        raise self.refused(table, "changed by UPDATE")

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        """The row kinds that the source emits."""
        return INSERT_ONLY

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        """The row kinds that the sink accepts; empty if it accepts all."""
        return frozenset()

    def repeats_writes(self, table: ResolvedTable, options: Mapping[str, str]) -> bool:
        """Whether the sink writes by key and at least once, so that rows of a lost epoch stay in
        the table until something is written to their keys."""
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


def table_factory(table: ResolvedTable, options: Mapping[str, str]) -> TableFactory:
    """The factory of a table.

    Args:
        options: the table's options, overridden by hints.

    Raises:
        JobDefinitionError: there is no such connector.
    """
    source = table.source
    factory: TableFactory = source if isinstance(source, TableFactory) else source(options)
    return factory


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
