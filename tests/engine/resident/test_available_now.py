"""Runs on resident tasks that read what there is now, commit it, and end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration, Duration, Types, WatermarkStrategy
from millrace.common.sink import CommitMode, Committer, Sink, SinkWriter
from millrace.common.types.batch import RowBatch
from millrace.connectors import FileSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.job_details import JobDetails
from millrace.engine.resident.tasks import ResidentSettings
from millrace.formats import StreamFormat
from millrace.testing.resident_tasks import local_resident_executor

TRIES = 3
"""Tries until a commit succeeds. The waits between them add up to 0.3 s."""


@pytest.fixture(autouse=True)
def resident() -> Iterator[None]:
    before = JobLauncher.current()
    settings = ResidentSettings(barrier_interval=5)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, settings)))
    yield
    JobLauncher.install(before)


class Pages(Sink[str]):
    """Writes files at the last of several tries to commit."""

    def __init__(self, directory: Path, mode: CommitMode) -> None:
        self._directory, self._mode = str(directory), mode

    @property
    def commit_mode(self) -> CommitMode:
        return self._mode

    def create_writer(self, context: Any, state: Any) -> SinkWriter[Any]:
        return PageWriter()

    def create_committer(self, context: Any) -> Committer:
        return PageCommitter(self._directory)


class PageWriter(SinkWriter[str]):
    def begin_epoch(self, epoch: object) -> None:
        self._lines: list[str] = []

    def write(self, batch: RowBatch[str]) -> None:
        self._lines += batch.values

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return self._lines


class PageCommitter(Committer):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def commit(self, requests: Sequence[Any]) -> None:
        for request in requests:
            if request.number_of_retries < TRIES - 1:
                request.retry_later()
                continue
            with Path(self._directory, request.committable).open("x"):
                pass  # a second commit would fail


Run = Callable[[], list[JobDetails]]


def runs(directory: Path, mode: CommitMode, available_now: bool, watched: bool = True) -> Run:
    """A job that counts words in files, as a function that runs it and returns what it told
    after its epochs."""
    (directory / "in").mkdir()
    (directory / "out").mkdir()

    def run() -> list[JobDetails]:
        config = Configuration()
        config.set_string("execution.runtime-mode", "STREAMING")
        config.set_string("execution.checkpointing.dir", str(directory / "checkpoints"))
        config.set_string("millrace.available-now", str(available_now).lower())
        env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
        files = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), directory / "in"
        )
        if watched:
            files.monitor_continuously(Duration.of_seconds(1))
        words = env.from_source(files.build(), WatermarkStrategy.no_watermarks(), "words")
        pairs = words.uid("words").map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
        lines = pairs.sum(1).map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING())
        lines.sink_to(Pages(directory / "out", mode))
        told: list[JobDetails] = []
        env.launcher.listeners.append(told.append)
        try:
            env.execute("job")
        finally:
            env.launcher.listeners.remove(told.append)
        return told

    return run


def write(directory: Path, name: str, *words: str) -> None:
    hidden = directory / f".{name}"
    hidden.write_text("".join(f"{word}\n" for word in words))
    hidden.rename(directory / "in" / name)


def committed(directory: Path) -> Counter[str]:
    return Counter(path.name for path in (directory / "out").iterdir())


@pytest.mark.parametrize("mode", list(CommitMode))
def test_everything_is_read_and_committed(tmp_path: Path, mode: CommitMode) -> None:
    run = runs(tmp_path, mode, available_now=True)
    write(tmp_path, "1", "a", "b", "a")
    run()
    assert committed(tmp_path) == Counter(["a 1", "a 2", "b 1"])
    write(tmp_path, "2", "b", "c")
    write(tmp_path, "3", "a")
    run()
    expected = Counter(["a 1", "a 2", "a 3", "b 1", "b 2", "c 1"])
    assert committed(tmp_path) == expected
    assert len(run()) == 1
    assert committed(tmp_path) == expected


@pytest.mark.parametrize("available_now", [True, False])
def test_each_try_of_a_commit_at_the_end_takes_one_epoch(
    tmp_path: Path, available_now: bool
) -> None:
    """Until a commit is tried again, an epoch stays open although its sources have ended."""
    run = runs(tmp_path, CommitMode.IN_SUBTASK, available_now, watched=available_now)
    write(tmp_path, "1", "a")
    epochs = run()[-1].epochs
    assert committed(tmp_path) == Counter(["a 1"])
    assert epochs <= 4 + 2 * TRIES
