"""`IcebergSource`: reads an Iceberg table and follows the snapshots that append to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobExecutionError
from millrace.common.source import (
    Boundedness,
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
)
from millrace.connectors.data_file_reader import DataFileReader
from millrace.connectors.iceberg.table import IcebergOptions, columns_of
from millrace.filesystem.registry import resolved

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["IcebergSource"]


@dataclass(frozen=True)
class IcebergFileSplit(SourceSplit):
    """A data file whose rows are all new."""

    location: str = ""


class IcebergSource(SplitSource[Any]):
    """Reads the rows of an Iceberg table and then the rows that new snapshots append, in columns.

    A snapshot that deletes or overwrites ends the job, since nobody could say which rows changed;
    one that only rewrites files (compaction) does not. Subtasks read the data files, and need no
    catalog.

    Args:
        table: its name in the catalog, such as ``shop.orders``.
        catalog: properties as of `pyiceberg.catalog.load_catalog`, ``name`` among them if it is
            not "default", or the name of a catalog in ``.pyiceberg.yaml``.
        after_snapshot: id of the snapshot whose successors are read; None to read the table as it
            is when the job starts, and then its new snapshots.
        bounded: read the rows that exist when the job starts, and end.
        poll_interval: milliseconds between looks for new snapshots.

    Raises:
        ConfigurationError: there is no such table, or no package pyiceberg.
    """

    def __init__(
        self,
        table: str,
        catalog: str | Mapping[str, str],
        after_snapshot: int | None = None,
        bounded: bool = False,
        poll_interval: int = 1_000,
    ) -> None:
        self._options: IcebergOptions | None = IcebergOptions(table, catalog)
        self._schema = columns_of(self._options.open(), with_ids=True)
        self._after = after_snapshot
        self._bounded = bounded
        self._poll_interval = poll_interval

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_options": None}  # workers do not see the catalog

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        return True

    def create_enumerator(self) -> IcebergEnumerator:
        assert self._options is not None
        return IcebergEnumerator(self._options, self._after, self._bounded, self._poll_interval)

    def create_split_reader(
        self, split: Any, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        return DataFileReader(split.location, self._schema, position or 0)


class IcebergEnumerator(SplitEnumerator):
    """Enumerator that looks for new snapshots of the table. Its position is the last snapshot that
    it has read.
    """

    def __init__(
        self, options: IcebergOptions, after: int | None, bounded: bool, poll_interval: int
    ) -> None:
        self._options = options
        self._last = after
        self._once = bounded
        self._poll_interval = poll_interval
        self._looked = False
        self._table: Table | None = None

    def prepare_for_available_now(self, now: int) -> None:
        self._once = True

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if self._once and self._looked:
            return ()
        self._looked = True
        if self._table is None:
            self._table = self._options.open()
        else:
            self._table.refresh()
        newest = self._table.current_snapshot()
        if newest is None or newest.snapshot_id == self._last:
            return ()
        if self._last is None:
            splits = self._all_files(self._table)
        else:
            snapshots = self._since(self._table, newest, self._last)
            splits = [
                split for snapshot in snapshots for split in self._appended(self._table, snapshot)
            ]
        self._last = newest.snapshot_id
        return splits

    def _all_files(self, table: Table) -> list[SourceSplit]:
        tasks = list(table.scan().plan_files())
        if any(task.delete_files for task in tasks):
            raise JobExecutionError(
                f"table {self._options.table} has rows that delete files delete, which "
                "IcebergSource cannot read; compact the table, or read it by "
                "env.from_spark()"
            )
        return [_split(task.file.file_path) for task in tasks]

    def _since(self, table: Table, newest: Snapshot, last: int) -> list[Snapshot]:
        """Snapshots after the last one, oldest first."""
        snapshots: list[Snapshot] = []
        snapshot: Snapshot | None = newest
        while snapshot is not None and snapshot.snapshot_id != last:
            snapshots.append(snapshot)
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        if snapshot is None:
            raise JobExecutionError(
                f"snapshot {last} of table {self._options.table}, which was read last, is "
                "not an ancestor of the newest snapshot: it has expired, or the table was "
                "rolled back; start the job afresh, from the whole table"
            )
        return snapshots[::-1]

    def _appended(self, table: Table, snapshot: Snapshot) -> list[SourceSplit]:
        from pyiceberg.manifest import ManifestEntryStatus

        what = "unknown" if snapshot.summary is None else snapshot.summary.operation.value
        if what == "replace":
            return []
        if what != "append":
            raise JobExecutionError(
                f"snapshot {snapshot.snapshot_id} of table {self._options.table} deletes or "
                f"updates rows ({what}), and does not say which; IcebergSource follows "
                "tables that only grow"
            )
        return [
            _split(entry.data_file.file_path)
            for manifest in snapshot.manifests(table.io)
            if manifest.added_snapshot_id == snapshot.snapshot_id
            for entry in manifest.fetch_manifest_entry(table.io)
            if entry.status is ManifestEntryStatus.ADDED
            and entry.snapshot_id == snapshot.snapshot_id
        ]

    def no_more_splits(self) -> bool:
        return self._once and self._looked

    def next_discovery(self, now: int) -> int | None:
        return None if self._once else now + self._poll_interval

    def snapshot_state(self) -> int | None:
        return self._last

    def restore_state(self, state: int | None) -> None:
        self._last = state


def _split(location: str) -> IcebergFileSplit:
    return IcebergFileSplit(location, resolved(location))
