"""`DeltaChangesReader`: reads the changes that a version of a Delta table makes."""

from __future__ import annotations

from typing import Any

from millrace.common.source import SplitReader
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.row import RowKind
from millrace.connectors.delta.delta_splits import DeltaChangesSplit
from millrace.connectors.delta.table import DeltaOptions

__all__ = ["DeltaChangesReader"]

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
    """Reads all changes of a version at once: the library returns them in no reproducible order."""

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
