"""`DeltaSource`: reads a Delta table and follows its versions, without a JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobExecutionError
from millrace.common.source import (
    Boundedness,
    EnumeratorContext,
    MultiplexSourceReader,
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
)
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.row import RowKind
from millrace.connectors.data_file_reader import DataFileReader
from millrace.connectors.delta.delta_splits import (
    DeltaChangesSplit,
    appended_files,
    files_of,
    require_readable,
)
from millrace.connectors.delta.table import DeltaOptions
from millrace.filesystem.registry import resolved

if TYPE_CHECKING:
    import pyarrow

__all__ = ["DeltaSource"]

_CHANGES = "delta.enableChangeDataFeed"


class DeltaSource(SplitSource[Any]):
    """Reads the rows of a Delta table and then the rows of its new versions, in columns.

    Of a table with a change data feed (``delta.enableChangeDataFeed``) every change is a row with
    its kind: INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE. One subtask reads them, so that they
    stay in order. Any other table may only grow: its new files are spread over all subtasks. A
    version that deletes or updates rows then ends the job; one that only compacts files does not.

    Args:
        location: path or URI of the table, such as ``s3://bucket/table``.
        starting_version: the first version whose changes are read; None to read the table as it
            is when the job starts, and then its changes.
        bounded: read the rows that exist when the job starts, and end.
        poll_interval: milliseconds between looks for new versions.
        storage_options: options of `deltalake.DeltaTable`, for tables that are not on a disk.

    Raises:
        ConfigurationError: when the job starts and there is no table, no package deltalake, or the
            table has deletion vectors or column mapping.

    Example::

        orders = env.from_source(DeltaSource("/tables/orders"), no_watermarks, "orders")
    """

    def __init__(
        self,
        location: str,
        starting_version: int | None = None,
        bounded: bool = False,
        poll_interval: int = 1_000,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        self._options = DeltaOptions(resolved(location), storage_options)
        self._starting_version = starting_version
        self._bounded = bounded
        self._poll_interval = poll_interval

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        return True

    def create_enumerator(self) -> DeltaEnumerator:
        return DeltaEnumerator(
            self._options, self._starting_version, self._bounded, self._poll_interval
        )

    def create_split_reader(
        self, split: Any, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        return _SplitReaders(self._options)(split, position, context)

    def create_reader(self, context: ReaderContext) -> MultiplexSourceReader[Any]:
        return MultiplexSourceReader(_SplitReaders(self._options), context)


class _SplitReaders:
    """Creates the readers of a subtask's splits. All files are read with the columns that the table
    had when the subtask opened its first file.
    """

    def __init__(self, options: DeltaOptions) -> None:
        self._options = options

    def __call__(self, split: Any, position: Any, context: ReaderContext) -> SplitReader[Any]:
        if isinstance(split, DeltaChangesSplit):
            return DeltaChangesReader(self._options, split)
        location = f"{self._options.location}/{split.path}"
        return DataFileReader(location, self._schema, position or 0, dict(split.partition))

    @cached_property
    def _schema(self) -> pyarrow.Schema:
        return self._options.schema()


class DeltaEnumerator(SplitEnumerator):
    """Enumerator that looks for new versions of the table. Its position is the next version."""

    def __init__(
        self, options: DeltaOptions, starting_version: int | None, bounded: bool, poll_interval: int
    ) -> None:
        self._options = options
        self._next = starting_version
        """The next version to read; None if the whole table is read first."""
        self._once = bounded
        self._poll_interval = poll_interval
        self._looked = False
        self._unread: set[str] = set()
        """Files of the whole table, if changes have to wait until they are read."""
        self._table_id: str | None = None
        """Id of the table to which the versions belong."""

    def start(self, context: EnumeratorContext) -> None:
        self._context = context
        self._open()
        self._changes = self._table.metadata().configuration.get(_CHANGES) == "true"

    def _open(self) -> None:
        location = self._options.location
        self._table = self._options.open()
        require_readable(self._table, location)
        table_id = str(self._table.metadata().id)
        if self._table_id not in (None, table_id):
            raise JobExecutionError(
                f"the table at {location} is not the table that the job has read: it was "
                "dropped and created again, and its versions start again; start the job "
                "afresh, too"
            )
        self._table_id = table_id

    def prepare_for_available_now(self, now: int) -> None:
        self._once = True

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if self._unread or (self._once and self._looked):
            return ()
        self._looked = True
        known = self._table.version()
        self._table.update_incremental()
        if self._table.version() != known:
            self._open()  # they may be versions of another table
        newest = self._table.version()
        splits: list[SourceSplit] = []
        if self._next is None:
            splits, self._next = [*files_of(self._table, newest)], newest + 1
            self._unread = {split.split_id for split in splits} if self._changes else set()
        while self._next <= newest:
            if self._changes:
                split = DeltaChangesSplit(f"changes-{self._next}", self._next)
                self._context.assign_split(split, 0)
            else:
                splits += appended_files(self._options, self._next)
            self._next += 1
        return splits

    def no_more_splits(self) -> bool:
        return self._once and self._looked

    def next_discovery(self, now: int) -> int | None:
        return None if self.no_more_splits() else now + self._poll_interval

    def handle_split_finished(self, split: Any) -> None:
        self._unread.discard(split.split_id)

    def snapshot_state(self) -> tuple[int | None, list[str], str | None]:
        return self._next, sorted(self._unread), self._table_id

    def restore_state(self, state: tuple[int | None, list[str], str | None]) -> None:
        self._next, self._unread, self._table_id = state[0], set(state[1]), state[2]


_KIND = "_change_type"
_ABOUT = (_KIND, "_commit_version", "_commit_timestamp")
_KINDS = {
    "insert": RowKind.INSERT.value,
    "update_preimage": RowKind.UPDATE_BEFORE.value,
    "update_postimage": RowKind.UPDATE_AFTER.value,
    "delete": RowKind.DELETE.value,
}
_RANKS = {"delete": 0, "update_preimage": 0, "insert": 1, "update_postimage": 1}
"""Order of a version's changes: removals come before additions; the library mixes them."""


class DeltaChangesReader(SplitReader[Any]):
    """Reads all changes of a version in one batch, because the library returns them in an order
    that is not reproducible."""

    def __init__(self, options: DeltaOptions, split: DeltaChangesSplit) -> None:
        self._options = options
        self._version = split.version
        self._done = False

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        import pyarrow as pa

        self._done = True
        changes = pa.table(self._options.open().load_cdf(self._version, self._version).read_all())
        if not changes.num_rows:
            return RowBatch([])
        schema = self._options.schema()
        kinds = changes.column(_KIND).to_pylist()
        order = sorted(range(len(kinds)), key=lambda place: _RANKS[kinds[place]])
        fields = [schema.field(name) for name in changes.schema.names if name not in _ABOUT]
        # what the library gives are views of texts, for which Arrow has few functions
        columns = [changes.column(f.name).cast(f.type).combine_chunks().take(order) for f in fields]
        return ColumnBatch(
            pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)),
            None,
            pa.array([_KINDS[kinds[place]] for place in order], pa.int8()),
            "row",
        )

    def position(self) -> None:
        return None

    def finished(self) -> bool:
        return self._done
