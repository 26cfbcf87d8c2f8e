"""`DeltaSink`: appends to a Delta table, or upserts by key, exactly once and without a JVM."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError
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
from millrace.connectors.delta.table import (
    DeltaOptions,
    require_no_conditions,
    require_plain_columns,
)
from millrace.connectors.last_rows import DELETES, KIND, last_rows, require_columns
from millrace.connectors.staged_file import delete_staged
from millrace.connectors.table_writer import TableWriter
from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.registry import file_system_of, resolved
from millrace.formats.arrow_types import arrow_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["DeltaSink"]


class DeltaSink(Sink[Any], SupportsOrphanSweep):
    """Writes records to a Delta Lake table, one version of the table per checkpoint.

    Subtasks write Parquet files; when the checkpoint is complete, the driver adds them to the table
    in one transaction, with application id and checkpoint number: a repetition is recognised.

    With ``upsert_keys`` the files wait below the job's checkpoints, and the driver merges them:
    the last record of a key replaces its row; one whose row kind is DELETE or UPDATE_BEFORE deletes
    it, unless a later one of the same checkpoint brings it back.

    Args:
        location: path or URI of the table, such as ``s3://bucket/table``.
        row_type: columns for creating the table if it is missing.
        partition_by: the columns to partition such a new table by.
        upsert_keys: the columns that identify a row; None to append records.
        storage_options: options of `deltalake.DeltaTable`, for tables that are not on a disk.

    Raises:
        ConfigurationError: when the job starts and there is no table, no package deltalake, or the
            table has column mapping, or, for appending, conditions or generated columns.

    Example::

        rows = Types.ROW_NAMED(["day", "count"], [Types.STRING(), Types.LONG()])
        stream.sink_to(DeltaSink("/tables/counts", rows, upsert_keys=["day"]))
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self,
        location: str,
        row_type: RowTypeInfo | RowType | None = None,
        partition_by: Sequence[str] = (),
        upsert_keys: Sequence[str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(partition_by, str) or isinstance(upsert_keys, str):
            raise JobDefinitionError("partition_by and upsert_keys are lists of column names")
        if upsert_keys is not None and not upsert_keys:
            raise JobDefinitionError("upsert_keys is empty: it names the columns of a row's key")
        self._options = DeltaOptions(resolved(location), storage_options)
        self._schema = None if row_type is None else arrow_schema(row_type, False)
        self._partition_by = tuple(partition_by)
        self._keys = None if upsert_keys is None else tuple(upsert_keys)
        self._staged: set[str] = set()
        """In the driver: where files to upsert have been found."""

    def create_writer(self, context: WriterContext, state: Any) -> TableWriter:
        schema, partition_by = _layout(self._options)
        location = self._options.location
        require_columns(self._keys, schema, location)
        return TableWriter(location, location, schema, partition_by, self._keys, context)

    def create_committer(self, context: CommitterContext) -> DeltaCommitter:
        if self._schema is not None:
            self._options.create(self._schema, self._partition_by)
        return DeltaCommitter(self._options, self._keys, self._staged)

    def sweep(self, in_use: Collection[str], run_ids: Collection[str], older_than: int) -> None:
        delete_staged(self._staged, run_ids, older_than)


def _layout(options: DeltaOptions) -> tuple[Any, tuple[str, ...]]:
    """Columns and partition columns of the table at the start of the writer. Columns that are
    added later are null until the job restarts."""
    import pyarrow as pa

    table = options.open()
    return pa.schema(table.schema().to_arrow()), tuple(table.metadata().partition_columns)


class DeltaCommitter(Committer):
    """Commits the data of each checkpoint as a version of the table."""

    def __init__(
        self, options: DeltaOptions, keys: tuple[str, ...] | None, staged: set[str]
    ) -> None:
        self._staged = staged
        self._options = options
        self._keys = keys
        self._table = options.open()
        require_plain_columns(self._table, options.location)
        if keys is None:
            require_no_conditions(self._table, options.location)

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        for run in by_run(requests):
            self._table.update_incremental()
            done = self._table.transaction_version(run.application_id)
            paths = [f"{item['directory']}/{item['path']}" for item in run.committables]
            if done is not None and done >= run.number:
                run.signal_already_committed()
            elif self._keys is None:
                self._append(run, paths)
            else:
                require_files(paths)
                crash_point("before-table-commit")
                merge_rows(self._table, self._keys, run.committables, _properties(run))
            crash_point("after-table-commit")
            if self._keys is not None:
                file_system_of(paths[0]).delete_all(paths)
                self._staged.update(item["directory"] for item in run.committables)

    def _append(self, run: CommittedRun, paths: Sequence[str]) -> None:
        from deltalake.transaction import AddAction, RemoveAction

        require_files(paths)
        crash_point("before-table-commit")
        now = time.time_ns() // 1_000_000
        actions: list[AddAction | RemoveAction] = [
            AddAction(
                item["path"],
                item["size"],
                item["partition"],
                now,
                True,
                json.dumps({"numRecords": item["rows"]}),
            )
            for item in run.committables
        ]
        self._table.create_write_transaction(
            actions,
            "append",
            self._table.schema(),
            self._table.metadata().partition_columns,
            commit_properties=_properties(run),
        )


def _properties(run: CommittedRun) -> Any:
    from deltalake.transaction import CommitProperties, Transaction

    return CommitProperties(app_transactions=[Transaction(run.application_id, run.number)])


def merge_rows(
    table: DeltaTable, keys: Sequence[str], files: Sequence[Any], properties: Any
) -> None:
    """Merge the rows of staged files, using the last row of each key, in one version of the
    table."""
    rows = last_rows(files, keys)
    names = [name for name in rows.schema.names if name != KIND]
    values = {f"`{name}`": f"s.`{name}`" for name in names}
    deleted = " OR ".join(f"s.`{KIND}` = {number}" for number in DELETES)
    same = " AND ".join(f"t.`{key}` = s.`{key}`" for key in keys)
    merging = table.merge(
        rows, same, source_alias="s", target_alias="t", commit_properties=properties
    )
    merging = merging.when_matched_delete(deleted).when_matched_update(values)
    merging.when_not_matched_insert(values, f"NOT ({deleted})").execute()
