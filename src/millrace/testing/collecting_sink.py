"""A sink that keeps committed records for the test to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.sink import (
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import RowBatch
from millrace.testing.stream_record import StreamRecord

T = TypeVar("T")


class _Committable(NamedTuple):
    """Records of one subtask and epoch, under a unique name."""

    name: tuple[str, int]
    records: list[StreamRecord]


class CollectingSink(Sink[T], Generic[T]):
    """Sink that keeps the records of committed epochs, each once, in the process of the test.

    For programs that take their sink as an argument. A record is here once its checkpoint is
    complete, so what an aborted epoch wrote is never seen. Flink: docs, "Testing", where it is a
    class of your own.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> from millrace.testing import run_local
        >>> sink: CollectingSink[int] = CollectingSink()
        >>> with run_local():
        ...     env = StreamExecutionEnvironment.get_execution_environment()
        ...     _ = env.from_collection([1, 2]).map(lambda n: n * 10).sink_to(sink)
        ...     _ = env.execute()
        >>> sink.values()
        [10, 20]
    """

    def __init__(self) -> None:
        self._records: list[StreamRecord] = []
        self._committed: set[tuple[str, int]] = set()

    def values(self) -> list[T]:
        """All values so far, in the order in which they were committed."""
        return [record.value for record in self._records]

    def records(self) -> list[StreamRecord]:
        """All records so far, with their event times."""
        return list(self._records)

    def take(self) -> list[T]:
        """The values since the last call."""
        taken = self.values()
        # the job may add more at the same time
        del self._records[: len(taken)]
        return taken

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[T]:
        return _Writer(context.subtask_index)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _Committer(self._records, self._committed)

    # workers get an empty one
    def __reduce__(self) -> tuple[type[CollectingSink[Any]], tuple[()]]:
        return CollectingSink, ()


class _Writer(SinkWriter[T]):
    def __init__(self, subtask: int) -> None:
        self._subtask = subtask

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._name = epoch.attempt, self._subtask
        self._records: list[StreamRecord] = []

    def write(self, batch: RowBatch[T]) -> None:
        times: Sequence[int | None] = batch.timestamps or [None] * len(batch)
        self._records += map(StreamRecord, batch.values, times)

    def prepare_commit(self, end_of_input: bool) -> Sequence[_Committable]:
        return [_Committable(self._name, self._records)] if self._records else []


class _Committer(Committer):
    def __init__(self, records: list[StreamRecord], committed: set[tuple[str, int]]) -> None:
        self._records = records
        self._committed = committed

    def commit(self, requests: Sequence[CommitRequest[_Committable]]) -> None:
        for committable in (request.committable for request in requests):
            if committable.name not in self._committed:
                self._committed.add(committable.name)
                self._records += committable.records
