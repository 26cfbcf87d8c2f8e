"""Drives sources and sinks over several epochs without an engine."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from millrace.common.sink import (
    CommitRequest,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
    WriterEpoch,
)
from millrace.common.source import ReaderContext, Source, SourceSplit, SplitReader
from millrace.common.types.batch import RowBatch


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int = 1_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def through_pickle(value: Any) -> Any:
    """What a checkpoint does to positions, states and committables."""
    return pickle.loads(pickle.dumps(value))


class SourceHarness:
    """Reads a source as subtasks do; can start readers anew at their positions at any time."""

    def __init__(self, source: Source[Any], clock: Callable[[], int] | None = None) -> None:
        self.source = through_pickle(source)
        self.clock = clock or ManualClock()
        self.context = ReaderContext(0, 1, self.clock)
        self.enumerator = self.source.create_enumerator()

    def discover(self) -> list[SourceSplit]:
        """New splits, as they arrive at a subtask."""
        splits = list(self.enumerator.discover(self.clock()))
        assert len({split.split_id for split in splits}) == len(splits)
        return through_pickle(splits)

    def restart_enumerator(self) -> None:
        """Go on with a new enumerator from a checkpoint."""
        state = through_pickle(self.enumerator.snapshot_state())
        self.enumerator = self.source.create_enumerator()
        self.enumerator.restore_state(state)

    def reader(self, split: SourceSplit, position: Any = None) -> SplitReader[Any]:
        return self.source.create_split_reader(split, position, self.context)

    def batches(
        self, split: SourceSplit, step: int = 1000, restarts: Iterable[bool] = ()
    ) -> Iterator[RowBatch[Any]]:
        """Read a split to its end; ``restarts`` says after which reads the reader is replaced."""
        decisions = iter(restarts)
        reader = self.reader(split)
        while not reader.finished():
            records = reader.read(step)
            assert len(records.values) <= step
            yield records
            if next(decisions, False):
                position = through_pickle(reader.position())
                assert position == reader.position()
                reader.close()
                reader = self.reader(split, position)
        assert reader.read(step).values == []
        reader.close()

    def read_all(self, step: int = 1000, restarts: Iterable[bool] = ()) -> list[Any]:
        """All values of all splits found now, split after split."""
        decisions = iter(restarts)
        return [
            value
            for split in self.discover()
            for records in self.batches(split, step, decisions)
            for value in records.values
        ]


class SinkHarness:
    """Runs a sink's writers epoch by epoch; keeps what a checkpoint would keep."""

    def __init__(self, sink: Sink[Any], run_id: str = "run") -> None:
        self.sink = pickle.loads(cloudpickle.dumps(sink))  # with functions, as programs are
        self.run_id = run_id
        self.clock = ManualClock()
        self.states: dict[int, Any] = {}
        self.committables: list[Any] = []
        self.epoch = 0
        self.wakeup: int | None = None
        self._attempts = 0

    def writer(self, subtask: int = 0) -> SinkWriter[Any]:
        """The writer of a new attempt, after a failure."""
        self._attempts += 1
        attempt = f"{self.run_id}-{self.epoch}-{self._attempts}"
        context = WriterContext(subtask, 2, self.run_id, current_time=self.clock)
        writer = self.sink.create_writer(context, self.states.get(subtask))
        writer.begin_epoch(WriterEpoch(self.epoch, attempt, self.clock()))
        return writer

    def write_epoch(
        self, values: list[Any], subtask: int = 0, end_of_input: bool = False
    ) -> list[Any]:
        """An accepted and durable epoch whose committables wait for the committer."""
        self.epoch += 1
        writer = self.writer(subtask)
        writer.write(RowBatch(values))
        writer.flush(end_of_input)
        committables = through_pickle(list(writer.prepare_commit(end_of_input)))
        self.states[subtask] = through_pickle(writer.snapshot_state())
        self.wakeup = writer.next_wakeup()
        writer.close()
        self.committables += committables
        return committables

    def commit(self) -> None:
        """Commit what waits."""
        committer = self.sink.create_committer(CommitterContext())
        if committer is not None:
            requests = [CommitRequest(item) for item in through_pickle(self.committables)]
            committer.commit(requests)
            assert all(request.error is None for request in requests)
            committer.close()
        self.committables = []

    def run_epoch(self, values: list[Any], subtask: int = 0, end_of_input: bool = False) -> None:
        self.write_epoch(values, subtask, end_of_input)
        self.commit()

    def fail_epoch(self, values: list[Any], subtask: int = 0, prepare: bool = True) -> None:
        """An attempt that leaves its files behind, as one that is killed does."""
        writer = self.writer(subtask)
        writer.write(RowBatch(values))
        if prepare:
            writer.flush(False)
            writer.prepare_commit(False)


class Directory:
    """A directory as readers see it, and as it is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _files(self) -> list[str]:
        found = []
        for directory, _, names in os.walk(self.path):
            found += [os.path.relpath(os.path.join(directory, name), self.path) for name in names]
        return sorted(found)

    def visible(self) -> list[str]:
        """Files as Spark sees them."""
        return [
            file
            for file in self._files()
            if not any(part.startswith((".", "_")) for part in file.split("/"))
        ]

    def hidden(self) -> list[str]:
        return sorted(set(self._files()) - set(self.visible()))

    def lines(self) -> list[str]:
        """The lines of all visible files, sorted."""
        return sorted(
            line for file in self.visible() for line in (self.path / file).read_text().splitlines()
        )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def source_harness() -> type[SourceHarness]:
    return SourceHarness


@pytest.fixture
def sink_harness() -> type[SinkHarness]:
    return SinkHarness


@pytest.fixture
def output(tmp_path: Path) -> Directory:
    return Directory(tmp_path / "out")


@pytest.fixture
def read_context() -> ReaderContext:
    return ReaderContext(0, 1, ManualClock())
