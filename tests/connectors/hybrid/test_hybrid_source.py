"""HybridSource: one source after the other, whatever fails in and around the switch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.common.errors import JobDefinitionError
from millrace.common.source import (
    AssignedSplit,
    Boundedness,
    EnumeratorContext,
    ReaderContext,
    Source,
    SourceEvent,
    SourceSplit,
    SplitEnumerator,
    SplitRecords,
)
from millrace.common.source.source_reader import SourceReader
from millrace.common.types.batch import RowBatch
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors import (
    CollectionSource,
    FileSource,
    HybridSource,
    NumberSequenceSource,
)
from millrace.connectors.hybrid.member import MemberEvent, MemberRequest
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import StreamFormat
from millrace.testing import CollectingSink, Faults, run_local
from millrace.testing.pushed_source import _LogSource

TEXT = StreamFormat.text_line_format()
EVERY_EPOCH = {"execution.checkpointing.interval": "0 ms"}
AVAILABLE_NOW = Configuration({**EVERY_EPOCH, "millrace.available-now": "true"})


def run(
    source: Source[Any],
    sink: CollectingSink[Any],
    config: Configuration | None = None,
    parallelism: int = 2,
    **local: Any,
) -> list[Any]:
    """What a job gives that only reads, in the order of its epochs."""
    with run_local(**local):
        config = config or Configuration(EVERY_EPOCH)
        env = StreamExecutionEnvironment.get_execution_environment(config)
        env.set_parallelism(parallelism)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "hybrid").uid("read")
        stream.sink_to(sink).uid("write")
        env.execute()
    return sink.values()


def numbers(*ends: int) -> HybridSource[int]:
    """The numbers from 0 to each end in turn, each part a source of three splits."""
    bounds = list(zip((0, *ends), ends, strict=False))
    parts = [NumberSequenceSource(a, b - 1, splits=3) for a, b in bounds]
    builder = HybridSource.builder(parts[0])
    for part in parts[1:]:
        builder.add_source(part)
    return builder.build()


def assert_one_after_the_other(found: Sequence[int], *ends: int) -> None:
    assert sorted(found) == list(range(ends[-1])), "each exactly once"
    for start, end in zip((0, *ends), ends, strict=False):
        assert set(found[start:end]) == set(range(start, end)), "a source begins when one ends"


@pytest.mark.parametrize("seed", range(12))
def test_each_record_once_and_sources_in_turn_whatever_fails(seed: int) -> None:
    ends = [(7, 30, 31), (1, 2), (40, 41, 60)][seed % 3]
    faults = Faults(lost_epochs=0.3, lost_workers=0.3, repeated_tasks=0.2, lost_buffers=0.1)
    sink: CollectingSink[int] = CollectingSink()
    found = run(numbers(*ends), sink, workers=2, seed=seed, faults=faults, epoch_records=3)
    assert_one_after_the_other(found, *ends)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_job_that_stops_anywhere_goes_on_there(tmp_path: Path, parallelism: int) -> None:
    """After every number of epochs, also right before and after the switch; then with another
    parallelism."""
    for stop in range(1, 6):
        directory, sink = str(tmp_path / str(stop)), CollectingSink[int]()
        local: dict[str, Any] = {"epoch_records": 3, "checkpoint_dir": directory}
        with pytest.raises(RuntimeError, match="was stopped after"):
            run(numbers(20, 40), sink, **local, epoch_limit=stop)
        assert len(sink.values()) >= 3 * (stop - 1)
        found = run(numbers(20, 40), sink, parallelism=parallelism, **local, resume=True)
        assert_one_after_the_other(found, 20, 40)


def test_a_source_without_splits_is_passed_over(tmp_path: Path) -> None:
    tmp_path.joinpath("empty").mkdir()
    empty = FileSource.for_record_stream_format(TEXT, str(tmp_path / "empty")).build()
    last = CollectionSource(["a", "b"])
    source = HybridSource.builder(empty).add_source(empty).add_source(last).build()
    assert run(source, CollectingSink()) == ["a", "b"]


# -- switch positions ------------------------------------------------------------------


def test_the_second_source_starts_where_the_first_has_ended(tmp_path: Path) -> None:
    for day in 1, 2, 3:
        tmp_path.joinpath(f"day-{day}.txt").write_text(f"history {day}\n")

    def last_day(enumerator: Any) -> int:
        return max(int(path.rpartition("-")[2].removesuffix(".txt")) for path in enumerator.files)

    history = FileSource.for_record_stream_format(TEXT, str(tmp_path)).build()
    source = (
        HybridSource.builder(history)
        .add_source(
            lambda day: CollectionSource([f"day {n}" for n in range(day + 1, 6)]),
            Boundedness.BOUNDED,
            switch_position=last_day,
        )
        .build()
    )
    faults = Faults(lost_epochs=0.4, lost_workers=0.5)
    found = run(source, CollectingSink(), workers=2, seed=3, faults=faults, epoch_records=1)
    assert sorted(found[:3]) == ["history 1", "history 2", "history 3"]
    assert found[3:] == ["day 4", "day 5"]


def test_the_position_of_the_switch_is_in_the_checkpoint(tmp_path: Path) -> None:
    """Where the first source has ended is asked once: later it could be somewhere else."""
    asked: list[int] = []

    def position(enumerator: Any) -> int:
        asked.append(len(asked))
        return 10 + 100 * len(asked)

    def source() -> HybridSource[int]:
        return (
            HybridSource.builder(NumberSequenceSource(0, 5, splits=1))
            .add_source(
                lambda start: NumberSequenceSource(start, start + 20, splits=1),
                Boundedness.BOUNDED,
                switch_position=position,
            )
            .build()
        )

    sink: CollectingSink[int] = CollectingSink()
    local: dict[str, Any] = {"epoch_records": 6, "checkpoint_dir": str(tmp_path)}
    with pytest.raises(RuntimeError):
        run(source(), sink, **local, epoch_limit=3)
    assert asked == [0]
    run(source(), sink, **local, resume=True)
    assert asked == [0]
    assert sink.values() == [*range(6), *range(110, 131)]


# -- other sources ---------------------------------------------------------------------


def test_files_are_archived_although_another_source_follows(tmp_path: Path) -> None:
    tmp_path.joinpath("in").mkdir()
    for name in "ab":
        tmp_path.joinpath("in", name).write_text(f"{name}1\n{name}2\n")
    files = FileSource.for_record_stream_format(TEXT, str(tmp_path / "in"))
    files.archive_after_reading(str(tmp_path / "archive"))
    source = HybridSource.builder(files.build()).add_source(CollectionSource(list("123"))).build()
    assert source.requires_checkpoints
    assert source.acknowledges_records
    found = run(source, CollectingSink(), checkpoint_dir=str(tmp_path / "checkpoints"))
    assert sorted(found) == ["1", "2", "3", "a1", "a2", "b1", "b2"]
    assert {path.name for path in (tmp_path / "archive").iterdir()} == {"a", "b"}


def test_runs_with_available_now_go_through_the_sources(tmp_path: Path) -> None:
    """The last source is watched: each run takes what has come."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    old.joinpath("1").write_text("old\n")
    new.joinpath("1").write_text("first\n")
    history = FileSource.for_record_stream_format(TEXT, str(old)).build()
    watched = FileSource.for_record_stream_format(TEXT, str(new)).monitor_continuously(1_000)
    source = HybridSource.builder(history).add_source(watched.build()).build()
    sink: CollectingSink[str] = CollectingSink()
    local = {"checkpoint_dir": str(tmp_path / "checkpoints"), "resume": True}
    assert run(source, sink, AVAILABLE_NOW, **local) == ["old", "first"]
    new.joinpath("2").write_text("second\n")
    assert run(source, sink, AVAILABLE_NOW, **local) == ["old", "first", "second"]


def test_what_a_function_makes_must_be_able_to_end_now(tmp_path: Path) -> None:
    log: Source[Any] = _LogSource(0)
    builder = HybridSource.builder(NumberSequenceSource(1, 2))
    builder.add_source(lambda _: log, Boundedness.CONTINUOUS_UNBOUNDED)
    with pytest.raises(Exception, match="_LogSource, source 1 of the HybridSource, cannot"):
        run(builder.build(), CollectingSink(), AVAILABLE_NOW, checkpoint_dir=str(tmp_path))


class Asking(SourceEvent):
    """What a reader says before it asks for a split."""


class Answer(SourceEvent):
    """What it must have heard before it reads."""


class Pulled(Source[str]):
    """Splits go to readers that have asked, and only those who were answered read."""

    def __init__(self, name: str, splits: int) -> None:
        self.name = name
        self.splits = splits

    def create_enumerator(self) -> SplitEnumerator:
        return PulledEnumerator(self.name, self.splits)

    def create_reader(self, context: ReaderContext) -> SourceReader[str]:
        return PulledReader(self.name, context)


class PulledEnumerator(SplitEnumerator):
    def __init__(self, name: str, splits: int) -> None:
        self.name = name
        self.left = list(range(splits))

    def start(self, context: EnumeratorContext) -> None:
        self.context = context

    def discover(self, now: int) -> Sequence[SourceSplit]:
        return ()

    def no_more_splits(self) -> bool:
        return not self.left

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        assert isinstance(event, Asking)
        self.context.send_source_event(subtask, Answer())

    def handle_split_request(self, subtask: int) -> None:
        if self.left:
            self.context.assign_split(SourceSplit(f"{self.left.pop(0)}"), subtask)

    def snapshot_state(self) -> list[int]:
        return list(self.left)

    def restore_state(self, state: list[int]) -> None:
        self.left = list(state)


class PulledReader(SourceReader[str]):
    def __init__(self, name: str, context: ReaderContext) -> None:
        self.name = name
        self.context = context
        self.open: list[str] = []
        self.answered = False
        self.ended = False

    def notify_no_more_splits(self) -> None:
        self.ended = True

    def begin_epoch(self, max_records_per_split: int) -> None:
        self.context.send_source_event(Asking())
        if not self.open:
            self.context.send_split_request()

    def handle_source_event(self, event: SourceEvent) -> None:
        assert isinstance(event, Answer)
        self.answered = True

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        self.open += [assigned.split.split_id for assigned in splits]

    def poll(self, max_records: int) -> Sequence[SplitRecords[str]]:
        if not self.open or not self.answered:
            return ()
        name = self.open.pop()
        return [SplitRecords(name, RowBatch([f"{self.name}{name}"]), finished=True)]

    def snapshot_state(self) -> dict[str, int]:
        return dict.fromkeys(self.open, 0)


@pytest.mark.parametrize("seed", range(4))
def test_readers_that_ask_for_their_splits(seed: int) -> None:
    """The readers of the second source are there before it has splits, in lost workers, too."""
    source = HybridSource.builder(Pulled("a", 4)).add_source(Pulled("b", 5)).build()
    faults = Faults(lost_epochs=0.3, lost_workers=0.3)
    found = run(source, CollectingSink(), workers=2, seed=seed, faults=faults)
    assert sorted(found[:4]) == [f"a{n}" for n in range(4)]
    assert sorted(found[4:]) == [f"b{n}" for n in range(5)]


def test_a_reader_that_is_made_after_the_last_split_was_given_hears_of_it() -> None:
    """In a worker that took over from a lost one; it is told once."""
    made: list[PulledReader] = []

    class Noting(Pulled):
        def create_reader(self, context: ReaderContext) -> SourceReader[str]:
            made.append(PulledReader(self.name, context))
            return made[-1]

    source = HybridSource.builder(Pulled("a", 1)).add_source(Noting("b", 1)).build()
    reader = source.create_reader(ReaderContext(0, 1, lambda: 0))
    reader.begin_epoch(10)
    reader.notify_no_more_splits()
    reader.handle_source_event(MemberEvent(1))
    assert [inner.ended for inner in made] == [True]


# -- builder ---------------------------------------------------------------------------


def test_only_the_last_source_may_go_on_for_ever(tmp_path: Path) -> None:
    watched = FileSource.for_record_stream_format(TEXT, str(tmp_path)).monitor_continuously(1_000)
    builder = HybridSource.builder(NumberSequenceSource(1, 2)).add_source(watched.build())
    assert builder.build().boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    with pytest.raises(JobDefinitionError, match="source 1 of the HybridSource never ends"):
        builder.add_source(NumberSequenceSource(1, 2))


class Typed(CollectionSource[Any], ResultTypeQueryable):
    def __init__(self, type_info: TypeInformation[Any]) -> None:
        super().__init__([])
        self._type_info = type_info

    def get_produced_type(self) -> TypeInformation[Any]:
        return self._type_info


def test_types_must_agree_and_are_kept() -> None:
    text, number = Typed(Types.STRING()), Typed(Types.LONG())
    same = HybridSource.builder(text).add_source(text).build()
    assert isinstance(same, ResultTypeQueryable)
    assert same.get_produced_type() == Types.STRING()
    half = HybridSource.builder(text).add_source(CollectionSource(["a"])).build()
    assert not isinstance(half, ResultTypeQueryable)
    with pytest.raises(JobDefinitionError, match="records of one type, not"):
        HybridSource.builder(text).add_source(number).build()


def test_wrong_arguments_are_refused() -> None:
    first = NumberSequenceSource(1, 2)
    with pytest.raises(JobDefinitionError, match="consists of sources"):
        HybridSource.builder("files")  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="consists of sources"):
        HybridSource.builder(lambda position: first)  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="declare whether the source"):
        HybridSource.builder(first).add_source(lambda position: first)
    with pytest.raises(
        JobDefinitionError, match="start position of a source object is already fixed"
    ):
        HybridSource.builder(first).add_source(first, switch_position=lambda enumerator: 1)


def test_a_function_that_gives_something_else_is_told_so() -> None:
    builder = HybridSource.builder(NumberSequenceSource(1, 2))
    builder.add_source(lambda position: 7, Boundedness.BOUNDED)  # type: ignore[arg-type, return-value]
    with pytest.raises(Exception, match="factory of source 1 of the HybridSource must return"):
        run(builder.build(), CollectingSink())


def test_a_reader_asks_once_per_epoch_which_source_is_current() -> None:
    """However often it is polled. It asks again in the next epoch, because the question is lost if
    the epoch is undone."""
    context = ReaderContext(0, 1, lambda: 0)
    reader = numbers(3, 6).create_reader(context)
    for _ in range(3):
        reader.begin_epoch(10)
        assert reader.poll(10) == ()
    assert context.events == [MemberRequest()]
    assert reader.snapshot_state() == {}
    reader.begin_epoch(10)
    assert context.events == [MemberRequest(), MemberRequest()]
    reader.handle_source_event(MemberEvent(0, None))
    reader.begin_epoch(10)
    assert context.events == [MemberRequest(), MemberRequest()]


def test_a_dataframe_is_refused() -> None:
    class Delivered(NumberSequenceSource):
        is_delivered = True

    builder = HybridSource.builder(NumberSequenceSource(1, 2))
    with pytest.raises(JobDefinitionError, match="source 1 of the HybridSource is a DataFrame"):
        builder.add_source(Delivered(3, 4))
