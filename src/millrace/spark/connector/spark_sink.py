"""`SparkSink`: passes each checkpoint's records as a DataFrame to any Spark writer."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from millrace.common.sink import (
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    SupportsOrphanSweep,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.connectors.committed_runs import CommittedRun, by_run, origin, require_files
from millrace.connectors.staged_file import StagedFile, delete_staged
from millrace.filesystem.registry import file_system_of, resolved
from millrace.formats.parquet_writer import ParquetBulkWriters, ParquetWriterFactory

__all__ = ["SparkCheckpoint", "SparkSink"]

_STAGED = "staged"


class SparkCheckpoint(NamedTuple):
    """The checkpoint that is being committed, with which writers detect repeated attempts."""

    application_id: str
    """Id of the sink in one run of the job. A run from an older savepoint has another id, so that
    its records are never confused with the records of the previous run."""
    checkpoint_id: int
    """Increases within the application id."""


class SparkSink(Sink[Any], SupportsOrphanSweep):
    """Passes each checkpoint's records to a function that writes them with Spark, in the driver.

    The function gets a DataFrame and a `SparkCheckpoint`. It is called when the checkpoint is
    complete, and again if the driver dies before it is known that it has returned. So it writes
    exactly once if the table recognises the two numbers, and at least once otherwise. Checkpoints
    without records are passed over. When it raises, it is called again
    ``sink.committer.retries`` times before the job fails.

    Until then the records are in Parquet files, which subtasks write: they do not pass through
    the driver unless the function collects them.

    Args:
        write: the function. It stays in the driver, so it may use what cannot be pickled.
        row_type: the columns. None: as in the records, which then need the same fields and types.
        staging_directory: directory of the files, which Spark must be able to read; None for a
            directory below the job's checkpoints.

    Example::

        def append(dataframe, checkpoint):
            writer = dataframe.write.format("delta").mode("append")
            writer = writer.option("txnAppId", checkpoint.application_id)
            writer.option("txnVersion", checkpoint.checkpoint_id).save("/tables/counts")

        counts.sink_to(SparkSink(append))
    """

    takes = BatchForm.EITHER
    runs_spark_jobs = True

    def __init__(
        self,
        write: Callable[[Any, SparkCheckpoint], object],
        row_type: RowTypeInfo | None = None,
        staging_directory: str | None = None,
    ) -> None:
        self._write = write
        self._row_type = row_type
        self._directory = None if staging_directory is None else resolved(staging_directory)
        self._directories = {self._directory} if self._directory else set()
        """In the driver: where files have been found."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_write": None}  # writers do not call it

    def create_writer(self, context: WriterContext, state: Any) -> SparkSinkWriter:
        directory = self._directory or f"{context.directory}/{_STAGED}"
        factory = ParquetBulkWriters.for_row_type(self._row_type)
        return SparkSinkWriter(directory, factory, context)

    def create_committer(self, context: CommitterContext) -> SparkCommitter:
        return SparkCommitter(self._write, self._directories)

    def sweep(self, in_use: Collection[str], run_ids: Collection[str], older_than: int) -> None:
        delete_staged(self._directories, run_ids, older_than)


class SparkSinkWriter(SinkWriter[Any]):
    """Writes one subtask's records of an epoch to a file of its own."""

    def __init__(
        self, directory: str, factory: ParquetWriterFactory, context: WriterContext
    ) -> None:
        self._directory = directory
        self._context = context
        self._factory = factory
        self._file: StagedFile | None = None

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._location = f"{self._directory}/{epoch.attempt}.parquet"
        self._about = origin(self._context, epoch.number)

    def _staged(self) -> StagedFile:
        self._file = self._file or StagedFile(self._location, self._factory)
        return self._file

    def write(self, batch: RowBatch[Any]) -> None:
        if batch.values:
            self._staged().add(batch.values)

    def write_columns(self, batch: ColumnBatch) -> None:
        if len(batch):
            self._staged().add_columns(batch)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        file = self._file
        if file is None:
            return []
        file.complete()
        self._file = None
        return [{**self._about, "path": file.location}]

    def close(self) -> None:
        if self._file is not None:
            self._file.discard()


class SparkCommitter(Committer):
    """Calls the user's write function, and then records that the call has returned."""

    def __init__(
        self, write: Callable[[Any, SparkCheckpoint], object], directories: set[str]
    ) -> None:
        self._write = write
        self._directories = directories

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        for run in by_run(requests):
            self._commit(run)

    def _commit(self, run: CommittedRun) -> None:
        paths = [item["path"] for item in run.committables]
        files, directory = file_system_of(paths[0]), os.path.dirname(paths[0])
        self._directories.add(directory)
        note = f"{directory}/{run.application_id}.committed"
        noted = files.read_version(note)
        if noted is not None and int(noted[0]) >= run.number:
            run.signal_already_committed()
        else:
            require_files(paths)
            self._write(_read(paths), SparkCheckpoint(run.application_id, run.number))
            files.write_if(note, str(run.number).encode(), None if noted is None else noted[1])
        files.delete_all(paths)


def _read(paths: Sequence[str]) -> Any:
    from millrace.spark.dataframe import read_parquet

    return read_parquet(paths)
