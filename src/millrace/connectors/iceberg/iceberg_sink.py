"""`IcebergSink`: appends to an Iceberg table, or upserts by key, exactly once, without a JVM."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import ConfigurationError, JobDefinitionError
from millrace.common.sink import (
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SupportsOrphanSweep,
    WriterContext,
)
from millrace.common.types.batch import BatchForm
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.logical_type import RowType
from millrace.connectors.committed_runs import CommittedRun, by_run, require_files
from millrace.connectors.iceberg.changed_rows import any_of
from millrace.connectors.iceberg.table import IcebergOptions, columns_of
from millrace.connectors.last_rows import require_columns, staged_changes
from millrace.connectors.staged_file import delete_staged
from millrace.connectors.table_writer import TableWriter
from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.registry import file_system_of, resolved
from millrace.formats.arrow_types import arrow_schema

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.table import Table, Transaction

__all__ = ["IcebergSink"]

_DONE = "millrace.committed."
"""Prefix of the table property that says how far an application id has come."""


class IcebergSink(Sink[Any], SupportsOrphanSweep):
    """Writes records to an Iceberg table, one snapshot per checkpoint.

    Subtasks write Parquet files, for which they need no catalog; when the checkpoint is complete,
    the driver adds them to the table in one transaction. That also sets a property of the table
    with application id and checkpoint number, by which a repetition is recognised; the snapshot has
    them in its summary.

    With ``upsert_keys`` the driver replaces the rows of the checkpoint's keys by the last record of
    each; one whose row kind is DELETE or UPDATE_BEFORE only deletes.

    Args:
        table: its name in the catalog, such as ``shop.orders``.
        catalog: properties as of `pyiceberg.catalog.load_catalog`, ``name`` among them if it is
            not "default", or the name of a catalog in ``.pyiceberg.yaml``.
        row_type: columns for creating the table if it is missing.
        partition_by: the columns to partition such a new table by, each by its values.
        upsert_keys: the columns that identify a row; None to append records.

    Raises:
        ConfigurationError: there is no such table, no package pyiceberg, or the table is
            partitioned by more than values.

    Example::

        catalog = {"type": "rest", "uri": "http://catalog:8181"}
        stream.sink_to(IcebergSink("shop.orders", catalog))
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self,
        table: str,
        catalog: str | Mapping[str, str],
        row_type: RowTypeInfo | RowType | None = None,
        partition_by: Sequence[str] = (),
        upsert_keys: Sequence[str] | None = None,
    ) -> None:
        if isinstance(partition_by, str) or isinstance(upsert_keys, str):
            raise JobDefinitionError("partition_by and upsert_keys are lists of column names")
        self._options: IcebergOptions | None = IcebergOptions(table, catalog)
        if row_type is not None:
            _create(self._options, arrow_schema(row_type, False), partition_by)
        opened = self._options.open()
        self._table = table
        self._schema = columns_of(opened, with_ids=False)
        self._location = resolved(opened.location())
        self._partition_by = _partition_columns(opened)
        self._keys = None if upsert_keys is None else tuple(upsert_keys)
        self._staged: set[str] = set()
        """In the driver: where files to upsert have been found."""
        require_columns(self._keys, self._schema, table)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_options": None}  # workers do not see the catalog

    def create_writer(self, context: WriterContext, state: Any) -> TableWriter:
        return TableWriter(
            self._table,
            f"{self._location}/data",
            self._schema,
            self._partition_by,
            self._keys,
            context,
            keep=True,
        )

    def create_committer(self, context: CommitterContext) -> IcebergCommitter:
        assert self._options is not None
        return IcebergCommitter(self._options.open(), self._keys, self._staged)

    def sweep(self, in_use: Collection[str], run_ids: Collection[str], older_than: int) -> None:
        delete_staged(self._staged, run_ids, older_than)


def _create(options: IcebergOptions, schema: pyarrow.Schema, partition_by: Sequence[str]) -> None:
    catalog = options.catalog()
    for name in partition_by:
        if name not in schema.names:
            raise JobDefinitionError(
                f"partition_by names column {name!r}; the rows have {', '.join(schema.names)}"
            )
    if catalog.table_exists(options.table):
        return
    catalog.create_namespace_if_not_exists(options.table.rpartition(".")[0])
    with (
        catalog.create_table_transaction(options.table, schema) as transaction,
        transaction.update_spec() as spec,
    ):
        for name in partition_by:
            spec.add_identity(name)


def _partition_columns(table: Table) -> tuple[str, ...]:
    fields = table.spec().fields
    for field in fields:
        if str(field.transform) != "identity":
            raise ConfigurationError(
                f"table {'.'.join(table.name())} is partitioned by {field.name} "
                f"({field.transform}); IcebergSink supports only partitions by value"
            )
    return tuple(table.schema().find_column_name(field.source_id) or "" for field in fields)


class IcebergCommitter(Committer):
    """Commits the data of each checkpoint as a snapshot of the table."""

    def __init__(self, table: Table, keys: tuple[str, ...] | None, staged: set[str]) -> None:
        self._staged = staged
        self._table = table
        self._keys = keys

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        from pyiceberg.table import TableProperties

        for run in by_run(requests):
            self._table.refresh()
            # pyiceberg's own retries would not look at the property again: another driver's commit
            # of the same checkpoint would be doubled; `Committing` tries again
            self._table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"
            name = _DONE + run.application_id
            paths = [f"{item['directory']}/{item['path']}" for item in run.committables]
            if int(self._table.properties.get(name, -1)) >= run.number:
                run.signal_already_committed()
            else:
                require_files(paths)
                with self._table.transaction() as transaction:
                    self._change(transaction, run)
                    transaction.set_properties({name: str(run.number)})
                    crash_point("before-table-commit")
            crash_point("after-table-commit")
            if self._keys is not None:
                file_system_of(paths[0]).delete_all(paths)
                self._staged.update(item["directory"] for item in run.committables)

    def _change(self, transaction: Transaction, run: CommittedRun) -> None:
        about = {
            "millrace.application-id": run.application_id,
            "millrace.checkpoint-id": str(run.number),
        }
        if self._keys is None:
            files = [f"{item['directory']}/{item['path']}" for item in run.committables]
            transaction.add_files(files, about, check_duplicate_files=False)
            return
        rows, keys = staged_changes(run.committables, self._keys)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of keys that are new
            transaction.delete(any_of(keys), about)
        if rows.num_rows:
            transaction.append(rows, about)
