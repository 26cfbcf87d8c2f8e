"""Runs that read what there is now and end; the next one goes on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration, Duration, Encoder, Types, WatermarkStrategy
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import CommitMode, Committer, Sink, SinkWriter
from millrace.common.source import (
    AssignedSplit,
    Boundedness,
    ReaderContext,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
    SplitRecords,
)
from millrace.common.types.batch import RowBatch
from millrace.connectors import (
    BucketAssigner,
    DataGeneratorSource,
    FileSink,
    FileSource,
    SocketTextSource,
)
from millrace.datastream import (
    AsyncDataStream,
    AsyncFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.execution_mode import RuntimeExecutionMode
from millrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.engine.job_details import JobDetails
from millrace.formats import StreamFormat
from millrace.testing import ManualClock, MiniCluster, run_local
from millrace.testing.faults import Faults

AVAILABLE_NOW = Configuration({"millrace.available-now": "true"})
NO_TIME = WatermarkStrategy.no_watermarks()
BY_LENGTH = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda line, _: int(line.split()[1])
)


class Program:
    """A job in a directory that is run time after time."""

    def __init__(self, directory: Path, build: Callable[[Program], None], **local: Any) -> None:
        self.directory, self._build, self._local = directory, build, local
        (directory / "in").mkdir()
        self.watched = True
        self.clock = ManualClock(1_000)

    def write(self, name: str, *lines: str) -> None:
        hidden = self.directory / "in" / f".{name}"
        hidden.write_text("".join(f"{line}\n" for line in lines))
        os.rename(hidden, hidden.with_name(name))

    def lines(self, strategy: WatermarkStrategy[Any] = NO_TIME) -> Any:
        builder = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), self.directory / "in"
        )
        if self.watched:
            builder.monitor_continuously(Duration.of_seconds(1))
        return self.env.from_source(builder.build(), strategy, "lines").uid("lines")

    def to_files(self, stream: Any) -> None:
        sink = FileSink.for_row_format(str(self.directory / "out"), Encoder.simple_string_encoder())
        stream.sink_to(
            sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
        )

    def output(self) -> Counter[str]:
        parts = (self.directory / "out").glob("part-*")
        return Counter(line for part in parts for line in part.read_text().splitlines())

    def run(self, settings: Configuration = AVAILABLE_NOW, **local: Any) -> MiniCluster:
        checkpoints = str(self.directory / "checkpoints")
        with run_local(
            checkpoint_dir=checkpoints, clock=self.clock, **{**self._local, **local}
        ) as cluster:
            self.env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
            self.env.set_parallelism(2)
            self._build(self)
            self.env.execute("job")
        return cluster


def count_words(program: Program) -> None:
    counts = program.lines().map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    program.to_files(counts.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()))


@pytest.fixture(params=[True, False], ids=["watched", "bounded"])
def words(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    program = Program(tmp_path, count_words, workers=2, seed=3, epoch_records=2)
    program.watched = request.param
    return program


def test_a_run_ends_and_the_next_goes_on_with_its_state_and_position(words: Program) -> None:
    words.write("1", "a", "b", "a", "a")
    words.run()
    assert words.output() == Counter(["a 1", "a 2", "a 3", "b 1"])
    words.write("2", "b", "c")
    words.write("3", "a")
    words.run()
    assert words.output() == Counter(["a 1", "a 2", "a 3", "b 1", "b 2", "c 1", "a 4"])


def test_a_run_with_nothing_new_gives_nothing(words: Program) -> None:
    words.write("1", "a")
    words.run()
    before = words.output()
    for _ in range(3):
        assert len(words.run().progress) == 1
    assert words.output() == before == Counter(["a 1"])
    words.write("2", "a")
    words.run()
    assert words.output() == Counter(["a 1", "a 2"])


def test_nothing_there_at_all(words: Program) -> None:
    words.run()
    assert not words.output()
    words.write("1", "a")
    words.run()
    assert words.output() == Counter(["a 1"])


def test_what_comes_while_it_runs_is_for_the_next_run(words: Program) -> None:
    words.write("1", *"abcdefgh")
    added: list[str] = []

    def more(progress: JobDetails) -> None:
        added.append(f"x{len(added)}")
        words.write(f"later-{len(added)}", added[-1])
        words.clock.advance(10_000)

    build = words._build

    def build_and_listen(program: Program) -> None:
        program.env.launcher.listeners.append(more)
        build(program)

    words._build = build_and_listen
    words.run()
    assert words.output() == Counter(f"{letter} 1" for letter in "abcdefgh")
    assert len(added) > 2
    words._build = build
    words.run()
    assert words.output() == Counter(f"{word} 1" for word in [*"abcdefgh", *added])


@pytest.mark.parametrize("seed", range(4))
def test_epochs_that_are_lost_change_nothing(words: Program, seed: int) -> None:
    faults = Faults(lost_epochs=0.3, lost_workers=0.2, repeated_tasks=0.2)
    for number in range(3):
        words.write(str(number), *"aabbb")
        words.run(seed=seed, faults=faults)
    expected = [f"a {n}" for n in range(1, 7)] + [f"b {n}" for n in range(1, 10)]
    assert words.output() == Counter(expected)


def test_a_bounded_job_that_has_finished_by_itself_goes_on_too(words: Program) -> None:
    """Its windows fired at the end of the input; event time begins anew."""
    words.watched = False
    words._build = count_windows
    words.write("1", "a 1", "a 12")
    words.run(Configuration())
    assert words.output() == Counter(["a 1 of 10", "a 1 of 20"])
    words.write("2", "a 15", "a 31")
    words.run()
    assert words.output() == Counter(["a 1 of 10", "a 1 of 20", "a 1 of 20"])
    words.run(Configuration(), resume=True)
    assert words.output() == Counter(["a 1 of 10", "a 1 of 20", "a 1 of 20", "a 1 of 40"])


class Called(ProcessWindowFunction):  # type: ignore[type-arg]
    def process(self, key: str, context: Any, elements: Any) -> list[str]:
        return [f"{key} {sum(n for _, n in elements)} of {context.window().end}"]


def count_windows(program: Program) -> None:
    windows = (
        program.lines(BY_LENGTH)
        .map(lambda line: (line.split()[0], 1))
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
    )

    program.to_files(windows.process(Called()))


def test_windows_stay_open_until_their_time_has_come(tmp_path: Path) -> None:
    program = Program(tmp_path, count_windows)
    program.write("1", "a 1", "a 12", "b 13")
    program.run()
    assert program.output() == Counter(["a 1 of 10"])
    program.write("2", "a 14", "b 19", "a 25")
    program.run()
    assert program.output() == Counter(["a 1 of 10", "a 2 of 20", "b 2 of 20"])


class Upper(AsyncFunction):  # type: ignore[type-arg]
    async def async_invoke(self, value: str) -> list[str]:
        import asyncio

        await asyncio.sleep(0.2)
        return [value.upper()]


def test_requests_in_flight_are_waited_for(tmp_path: Path) -> None:
    def build(program: Program) -> None:
        upper = AsyncDataStream.unordered_wait(
            program.lines(), Upper(), Duration.of_seconds(30), 100, Types.STRING()
        )
        program.to_files(upper)

    program = Program(tmp_path, build)
    program.write("1", "a", "b")
    program.run()
    assert program.output() == Counter("AB")


def test_what_goes_round_in_a_loop_comes_to_its_end(tmp_path: Path) -> None:
    def build(program: Program) -> None:
        start = program.lines().map(int, Types.LONG()).iterate()
        halved = start.map(lambda number: number // 2, Types.LONG())
        start.close_with(halved.filter(lambda number: number > 0))
        program.to_files(halved.filter(lambda number: number == 0).map(str, Types.STRING()))

    program = Program(tmp_path, build)
    program.write("1", "1000000", "3")
    program.run()
    assert program.output() == Counter({"0": 2})
    program.write("2", "5")
    program.run()
    assert program.output() == Counter({"0": 3})


# -- a source whose splits have no end of their own --------------------------------------------


class Log(Source[int]):
    """Partitions that grow for ever, as those of a message queue do; one is a list in a file."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        return True

    def read(self, split: SourceSplit) -> list[str]:
        return Path(self.directory, split.split_id).read_text().split()

    def create_enumerator(self) -> SplitEnumerator:
        return LogEnumerator(self)

    def create_reader(self, context: ReaderContext) -> SourceReader[Any]:
        return LogReader(self)


class LogEnumerator(SplitEnumerator):
    def __init__(self, log: Log) -> None:
        self._log, self._known, self._prepared = log, set[str](), False

    def discover(self, now: int) -> Sequence[SourceSplit]:
        names = sorted(path.name for path in Path(self._log.directory).iterdir())
        new = [name for name in names if name not in self._known]
        self._known |= set(new)
        return [SourceSplit(name) for name in new]

    def prepare_for_available_now(self, now: int) -> None:
        self._prepared = True

    def available_now_end(self, split: Any) -> int:
        return len(self._log.read(split))

    def no_more_splits(self) -> bool:
        return self._prepared

    def next_discovery(self, now: int) -> int | None:
        return now + 100

    def snapshot_state(self) -> list[str]:
        return sorted(self._known)

    def restore_state(self, state: list[str]) -> None:
        self._known = set(state)


class LogReader(SourceReader[str]):
    def __init__(self, log: Log) -> None:
        self._log = log
        self._splits: dict[str, AssignedSplit] = {}
        self._positions: dict[str, int] = {}
        self._told: set[str] = set()
        self._paused: set[str] = set()

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        for assigned in splits:
            self._splits[assigned.split.split_id] = assigned
            self._positions[assigned.split.split_id] = assigned.position or 0

    def poll(self, max_records: int) -> Sequence[SplitRecords[str]]:
        for name, (split, _, end) in self._splits.items():
            if name in self._paused:
                continue
            at = self._positions[name]
            found = self._log.read(split)[at : at + max_records]
            if end is not None:
                found = found[: end - at]
            self._positions[name] = at + len(found)
            at_end = end is not None and self._positions[name] >= end
            if found or (at_end and name not in self._told):
                self._told.add(name)
                return [SplitRecords(name, RowBatch(found), at_end=at_end)]
        return ()

    def snapshot_state(self) -> Mapping[str, Any]:
        return dict(self._positions)

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        self._paused = (self._paused | set(pause)) - set(resume)


def test_a_partition_is_read_to_where_it_ended_when_the_run_began(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()

    def append(partition: str, *words: str) -> None:
        with (log / partition).open("a") as file:
            file.writelines(f"{word} " for word in words)

    def build(program: Program) -> None:
        stream = program.env.from_source(Log(log), NO_TIME, "log").uid("log")
        program.to_files(stream.map(chatty, Types.STRING()))

    def chatty(word: str) -> str:
        append("p0", f"{word}+")  # the partition grows as fast as it is read
        return word

    append("p0", "a", "b", "c")
    append("p1", "x")
    program = Program(tmp_path, build, epoch_records=2, epoch_limit=30)
    program.run()
    assert program.output() == Counter(["a", "b", "c", "x"])
    append("p2", "new")
    program.run()
    assert program.output() == Counter(
        ["a", "b", "c", "x", "new", *("a+", "b+", "c+", "x+")],
    )


def test_a_partition_at_its_end_holds_up_no_aligned_one(tmp_path: Path) -> None:
    """It would for ever: nothing that could move its watermark comes in this run."""
    log = tmp_path / "log"
    log.mkdir()
    (log / "ahead").write_text(" ".join(map(str, range(0, 100_000, 5_000))))
    (log / "behind").write_text("1 2 3")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda word, _: int(word)
    )
    aligned = strategy.with_watermark_alignment("group", Duration.of_millis(1_000))

    def build(program: Program) -> None:
        program.to_files(program.env.from_source(Log(log), aligned, "log").map(str, Types.STRING()))

    program = Program(tmp_path, build, epoch_records=1, epoch_limit=200)
    program.run()
    assert sum(program.output().values()) == 23


# -- commits -----------------------------------------------------------------------------------


class Pages(Sink[str]):
    """Commits where it is told to, at the second try."""

    def __init__(self, directory: Path, mode: CommitMode) -> None:
        self.directory, self._mode = str(directory), mode

    @property
    def commit_mode(self) -> CommitMode:
        return self._mode

    def create_writer(self, context: Any, state: Any) -> SinkWriter[Any]:
        return PageWriter()

    def create_committer(self, context: Any) -> Committer:
        return PageCommitter(self.directory)


class PageWriter(SinkWriter[str]):
    def begin_epoch(self, epoch: object) -> None:
        self._words: list[str] = []

    def write(self, batch: RowBatch[str]) -> None:
        self._words += batch.values

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return self._words


class PageCommitter(Committer):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def commit(self, requests: Sequence[Any]) -> None:
        for request in requests:
            if request.number_of_retries == 0:
                request.retry_later()
            else:
                Path(self._directory, f"part-{request.committable}").write_text(request.committable)


@pytest.mark.parametrize("mode", list(CommitMode))
def test_all_is_committed_when_it_ends(tmp_path: Path, mode: CommitMode) -> None:
    (tmp_path / "out").mkdir()

    def build(program: Program) -> None:
        program.lines().sink_to(Pages(tmp_path / "out", mode))

    program = Program(tmp_path, build)
    program.write("1", "a", "b")
    program.run()
    assert program.output() == Counter("ab")
    program.write("2", "c")
    program.run()
    assert program.output() == Counter("abc")


# -- refusals ----------------------------------------------------------------------------------


@contextmanager
def refused(saying: str, settings: Configuration, directory: Path | None) -> Iterator[Any]:
    with run_local(checkpoint_dir=directory and str(directory)):
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        yield env
        with pytest.raises(JobDefinitionError, match=saying):
            env.execute("job")


@pytest.mark.parametrize(
    "source",
    [SocketTextSource("localhost", 1), DataGeneratorSource(str)],
    ids=["socket", "generator"],
)
def test_a_source_without_an_end_is_refused(tmp_path: Path, source: Any) -> None:
    with refused("'endless' cannot determine the end", AVAILABLE_NOW, tmp_path) as env:
        env.from_source(source, NO_TIME, "endless").print()


def test_without_a_directory_for_checkpoints_there_is_no_next_run() -> None:
    with refused("set execution.checkpointing.dir", AVAILABLE_NOW, None) as env:
        env.from_collection([1]).print()


def test_checkpoints_that_are_deleted_at_the_end_are_refused(tmp_path: Path) -> None:
    with refused("leaves its checkpoint", AVAILABLE_NOW, tmp_path) as env:
        env.get_checkpoint_config().set_externalized_checkpoint_retention(
            ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        )
        env.from_collection([1]).print()


def test_batch_mode_is_refused(tmp_path: Path) -> None:
    with refused("use STREAMING mode", AVAILABLE_NOW, tmp_path) as env:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        env.from_collection([1]).print()
