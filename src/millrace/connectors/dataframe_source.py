"""A Spark DataFrame as a source: every reader that Spark has becomes one."""

from __future__ import annotations

import os
import shutil
import tempfile
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
from millrace.formats.parquet import ParquetColumnarRowInputFormat

__all__ = ["DataFrameSource"]


class DataFrameSource(SplitSource[Any]):
    """The rows of a bounded DataFrame, each a `Row` with the DataFrame's column names.

    A DataFrame may give other rows, or in another order, each time it is computed. So Spark writes
    it to Parquet files once, and these are read. They are kept below the checkpoint directory, for
    a run that resumes; not so when the caller declares the DataFrame deterministic: then each run
    makes them again, in a temporary directory.

    Args:
        dataframe: of Spark, not streaming.
        directory: where to keep the files; None: temporary ones.
        record_type: ``Row`` or ``dict``.
    """

    def __init__(
        self, dataframe: Any, directory: str | None = None, record_type: type[Any] = Row
    ) -> None:
        self._dataframe = dataframe
        self._format = ParquetColumnarRowInputFormat(record_type=record_type)
        self._directory = None if directory is None else qualified(directory)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dataframe": None}  # readers need the files only

    def create_enumerator(self) -> SplitEnumerator:
        return DataFrameEnumerator(self._dataframe, self._format, self._directory)

    def create_split_reader(
        self, split: FileSourceSplit, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        return FileSource(self._format, (split.path,)).create_split_reader(split, position, context)


class DataFrameEnumerator(SplitEnumerator):
    """Has the DataFrame written when it is first asked, then lists the files."""

    def __init__(
        self, dataframe: Any, file_format: ParquetColumnarRowInputFormat, directory: str | None
    ) -> None:
        self._dataframe = dataframe
        self._format = file_format
        self._directory = directory
        self._path: str | None = None
        self._ours = False

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
            self._ours = True
            return os.path.join(tempfile.mkdtemp(prefix="millrace-dataframe-"), "rows")
        return os.path.join(self._directory, "dataframes", uuid.uuid4().hex)

    def no_more_splits(self) -> bool:
        return self._path is not None

    def snapshot_state(self) -> str | None:
        return self._path

    def restore_state(self, state: str | None) -> None:
        kept = self._directory is not None
        self._path = state if kept or state is None else self._made_again(state)

    def _made_again(self, path: str) -> str:
        """The files of a deterministic DataFrame, made again where the splits expect them."""
        from millrace.spark.dataframe import materialize

        materialize(self._dataframe, path)
        self._ours = True
        return path

    def close(self) -> None:
        if self._ours and self._path is not None:
            shutil.rmtree(os.path.dirname(self._path), ignore_errors=True)
