"""`TableAccess`: interface to a catalog table's source, look-ups and sink, for the translation.

A `ResolvedTable` has it as its ``source``. Flink: ``DynamicTableSource`` and ``DynamicTableSink``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millrace.common.functions.lookup_functions import AsyncLookupFunction, LookupFunction
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import RowKind
from millrace.expressions.resolved import ResolvedExpression
from millrace.plan.transformation import Input
from millrace.planner.catalog_reader import ResolvedTable

__all__ = ["DataStreamAccess", "LookupRequest", "ScanRequest", "SinkRequest", "TableAccess"]


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


class TableAccess(Protocol):
    """Sources, look-ups and sinks of one table."""

    def create_source(self, request: ScanRequest) -> Source[Any]:
        """A source of column batches, rows, dicts or tuples. Their fields match the columns by name
        or by position.

        Raises:
            JobDefinitionError: the table cannot be read, or an option is wrong.
        """
        ...

    def create_lookup(self, request: LookupRequest) -> LookupFunction | AsyncLookupFunction:
        """A function that looks up rows by key; called only if `ResolvedTable.lookup` is set.

        Raises:
            JobDefinitionError: an option is wrong.
        """
        ...

    def repeats_writes(self, table: ResolvedTable, options: Mapping[str, str]) -> bool:
        """Whether the sink writes by key and at least once, so that rows of a lost epoch stay in
        the table until something is written to their keys.

        Args:
            options: the table's options, overridden by hints.
        """
        ...

    def create_sink(self, request: SinkRequest) -> Sink[Any]:
        """A sink of column batches, or of rows with their `RowKind`.

        Raises:
            JobDefinitionError: the table cannot be written so, or an option is wrong.
        """
        ...

    def replacing(self, request: SinkRequest) -> Callable[[], None]:
        """Prepare an INSERT OVERWRITE before its job runs; the returned function is to be called
        when the job has ended.

        It removes the rows that were there before, as far as the job has replaced them.
        """
        ...

    def partitions(self, table: ResolvedTable) -> list[tuple[str, ...]]:
        """Partitions that contain data now, as texts of the partition columns' values.

        Raises:
            JobDefinitionError: the connector cannot tell.
        """
        ...

    def truncate(self, table: ResolvedTable) -> None:
        """Delete all rows.

        Raises:
            JobDefinitionError: the table cannot be emptied.
        """
        ...

    def version(self, table: ResolvedTable) -> int | None:
        """Current version of the table, with which `delete_rows` and `update_rows` detect
        changes by others; None if the table has no versions."""
        ...

    def delete_rows(
        self, table: ResolvedTable, keys: Sequence[tuple[Any, ...]] | None, read: int | None = None
    ) -> None:
        """Delete the rows with these primary keys, all or none of them; with None, every row.

        Args:
            read: the `version` that the keys were found in, or one before it.

        Raises:
            JobDefinitionError: the table's rows cannot be deleted.
            JobExecutionError: somebody else has changed them since.
        """
        ...

    def update_rows(
        self, table: ResolvedTable, rows: Sequence[tuple[Any, ...]], read: int | None = None
    ) -> None:
        """Replace the rows that have the primary keys of the given rows, all or none of them.

        Args:
            read: the `version` that the rows were made from, or one before it.

        Raises:
            JobDefinitionError: the table's rows cannot be updated.
            JobExecutionError: somebody else has changed them since.
        """
        ...
