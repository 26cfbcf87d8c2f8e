"""`StagedFile`: a Parquet file with a subtask's output, until a committer takes it."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from millrace.common.types.batch import ColumnBatch
from millrace.filesystem.registry import file_system_of

if TYPE_CHECKING:
    from millrace.formats.parquet_writer import ParquetWriterFactory

__all__ = ["StagedFile", "delete_staged"]


class StagedFile:
    """Writes one Parquet file, which is invisible before `complete`.

    Args:
        location: path or URI of the file; on a disk, missing directories are made.
        factory: factory of the writer, which knows the columns.
        private: only this user can read it, where a file system knows users.
    """

    def __init__(self, location: str, factory: ParquetWriterFactory, private: bool = True) -> None:
        self.location = location
        self.rows = 0
        self._file = file_system_of(location).begin(location, private=private)
        self._writer = factory.create(cast(BinaryIO, self._file))

    def add(self, values: Sequence[Any]) -> None:
        """Append records."""
        self.rows += len(values)
        self._writer.add_elements(values)

    def add_columns(self, batch: ColumnBatch) -> None:
        """Append records in columns."""
        self.rows += len(batch)
        self._writer.add_columns(batch)

    def complete(self) -> int:
        """Make the file durable, and return its size in bytes.

        Raises:
            SerializationError: a record does not fit the columns.
        """
        self._writer.finish()
        return self._file.complete()

    def discard(self) -> None:
        """Delete the file, unless it is complete."""
        self._file.discard()


def delete_staged(directories: Iterable[str], run_ids: Collection[str], older_than: int) -> None:
    """Delete files that the given runs staged more than ``older_than`` ms ago: see
    `SupportsOrphanSweep.sweep`. The name of a staged file begins with the id of its run.
    """
    latest = time.time() - older_than / 1000
    for directory in directories:
        files = file_system_of(directory)
        left = [
            file.location
            for file in files.list(directory)
            if file.location.endswith(".parquet")
            and os.path.basename(file.location).split("-")[0] in run_ids
            and file.modified <= latest
        ]
        files.delete_all(left)
