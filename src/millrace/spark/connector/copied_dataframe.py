"""`CopiedDataFrameSource`: reads a bounded DataFrame whose rows may differ when it is computed
again."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from typing import Any

from millrace.common.source import (
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
)
from millrace.common.types.row import Row
from millrace.connectors.file_source import FileSource, FileSourceSplit
from millrace.filesystem.location import qualified
from millrace.filesystem.scratch_directory import ScratchDirectory
from millrace.formats.parquet import ParquetColumnarRowInputFormat

__all__ = ["CopiedDataFrameSource"]


class CopiedDataFrameSource(SplitSource[Any]):
    """Reads the rows of a bounded DataFrame, as `Row` objects with the DataFrame's column names.

    A DataFrame may have different rows, or another order, each time it is computed. So Spark writes
    it to Parquet files once, and the source reads these. They are kept in ``directory``, so that a
    resumed job reads the same rows. `DataFrameSource` copies nothing, where a DataFrame is
    repeatable.

    Args:
        dataframe: a Spark DataFrame, not a streaming one.
        directory: directory of the copy, such as the checkpoint directory; None for temporary
            files, if the job is never resumed.
        record_type: the type of the records, ``Row`` or ``dict``.
    """

    def __init__(
        self, dataframe: Any, directory: str | None = None, record_type: type[Any] = Row
    ) -> None:
        self._dataframe = dataframe
        self._format = ParquetColumnarRowInputFormat(record_type=record_type, columnar=True)
        self._directory = None if directory is None else qualified(directory)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dataframe": None}  # readers need the files only

    def create_enumerator(self) -> SplitEnumerator:
        return CopyingEnumerator(self._dataframe, self._format, self._directory)

    def create_split_reader(
        self, split: FileSourceSplit, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        return FileSource(self._format, (split.path,)).create_split_reader(split, position, context)


class CopyingEnumerator(SplitEnumerator):
    """Makes Spark write the DataFrame at the first `discover`; the written files are the splits."""

    def __init__(
        self, dataframe: Any, file_format: ParquetColumnarRowInputFormat, directory: str | None
    ) -> None:
        self._dataframe = dataframe
        self._format = file_format
        self._directory = directory
        self._path: str | None = None
        self._scratch: ScratchDirectory | None = None

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if self._path is not None:
            return ()
        from millrace.spark.dataframe import materialize

        self._path = self._new_path()
        materialize(self._dataframe, self._path)
        files = FileSource(self._format, (self._path,)).create_enumerator()
        return files.discover(now)

    def _new_path(self) -> str:
        if self._directory is None:
            self._scratch = ScratchDirectory("dataframe")
            return str(self._scratch.path / "rows")
        return os.path.join(self._directory, "dataframes", uuid.uuid4().hex)

    def no_more_splits(self) -> bool:
        return self._path is not None

    def snapshot_state(self) -> str | None:
        return self._path

    def restore_state(self, state: str | None) -> None:
        self._path = state

    def close(self) -> None:
        if self._scratch is not None:
            self._scratch.remove()
