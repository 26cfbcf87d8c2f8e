"""What is answered, announced and saved once the sinks have committed, in every commit mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any, ClassVar

import pytest

from millrace.common.completable_future import CompletableFuture
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import CheckpointError, JobCancelledError, JobExecutionError
from millrace.common.job import JobStatus
from millrace.common.sink import (
    CommitMode,
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from millrace.common.source import SplitEnumerator
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.batch import RowBatch
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine import savepoint_writer, sink_commits, subtask_commits
from millrace.engine.committed_checkpoints import CommittedCheckpoints
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.job_details import JobDetails
from millrace.engine.job_observer import JobObserver
from millrace.runtime.epoch import Ack
from millrace.state.checkpoint.snapshot import read_snapshot_manifest
from millrace.testing import run_local

MODES = list(CommitMode)


class Store:
    """What was committed, and how commits go."""

    committed: ClassVar[list[int]] = []
    commits: ClassVar[int] = 0
    failures: ClassVar[int] = 0
    """How many more commits fail."""
    open: ClassVar[Event] = Event()

    @classmethod
    def fail(cls, times: int) -> None:
        """Have so many of the commits that follow fail."""
        cls.failures = times


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    Store.committed, Store.commits, Store.failures, Store.open = [], 0, 0, Event()
    Store.open.set()
    yield
    Store.open.set()


class StoreSink(Sink[int]):
    def __init__(self, mode: CommitMode) -> None:
        self.mode = mode

    @property
    def commit_mode(self) -> CommitMode:
        return self.mode

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[int]:
        return StoreWriter()

    def create_committer(self, context: CommitterContext) -> Committer:
        return StoreCommitter()


class StoreWriter(SinkWriter[int]):
    def __init__(self) -> None:
        self.records: list[int] = []

    def write(self, batch: RowBatch[int]) -> None:
        self.records += batch.values

    def prepare_commit(self, end_of_input: bool) -> Sequence[list[int]]:
        records, self.records = self.records, []
        return [records] if records else []


class StoreCommitter(Committer):
    def commit(self, requests: Sequence[CommitRequest[list[int]]]) -> None:
        assert Store.open.wait(30)
        for request in requests:
            Store.commits += 1
            if Store.failures:
                Store.failures -= 1
                request.retry_later()
            else:
                Store.committed += [n for n in request.committable if n not in Store.committed]


Act = Callable[[EmbeddedJobClient], Any]


def run(
    path: Path,
    mode: CommitMode,
    act: Act | None = None,
    *,
    start_from: str | None = None,
    resume: bool = False,
    retries: int = 2,
    interval: int = 0,
    failures: int = 0,
    observer: JobObserver | None = None,
) -> EmbeddedJobClient:
    """Run a job of forty numbers to its end; ``act`` is done after its fourth epoch. So many
    commits fail from the third on: what the fourth has read is not committed at once."""
    settings = Configuration()
    settings.set(options.SAVEPOINT_DIR, str(path / "savepoints"))
    settings.set(options.COMMITTER_RETRIES, retries)
    if start_from is not None:
        settings.set(options.START_FROM, start_from)
    with run_local(epoch_records=2, checkpoint_dir=str(path / "chk"), resume=resume) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.set_parallelism(2).enable_checkpointing(interval)
        numbers = env.from_collection(list(range(40))).uid("numbers")
        numbers.rebalance().map(int).uid("ints").sink_to(StoreSink(mode)).uid("sink")
        client = env.build_client("stored")
        if observer is not None:
            client._manager.observe(observer)
        if failures:
            cluster.listeners.append(lambda d: Store.fail(failures) if d.epochs == 3 else None)
        if act is not None:
            cluster.listeners.append(lambda d: act(client) if d.epochs == 4 else None)
        with suppress(JobExecutionError, JobCancelledError):
            client.start().result()
        return client


ENDS: list[Act] = [
    EmbeddedJobClient.stop_with_savepoint,
    lambda client: client.stop_with_savepoint(advance_to_end_of_event_time=True),
    EmbeddedJobClient.cancel_with_savepoint,
    EmbeddedJobClient.trigger_savepoint,
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ask", ENDS, ids=["stop", "drain", "cancel", "go on"])
def test_no_savepoint_is_made_of_what_cannot_be_committed(
    ask: Act, mode: CommitMode, tmp_path: Path
) -> None:
    """A run that started from one would not commit it. The checkpoint has it."""
    asked: list[Any] = []

    def act(client: EmbeddedJobClient) -> None:
        Store.failures = 1_000
        asked.append(ask(client))

    client = run(tmp_path, mode, act, interval=86_400_000)
    assert asked, client.get_job_execution_result().exception()
    with pytest.raises(JobExecutionError, match=r"before it could make a savepoint: .*resume"):
        asked[0].result(0)
    assert client.get_job_status().result() is JobStatus.FAILED
    assert list((tmp_path / "savepoints").iterdir()) == []
    drained = len(Store.committed)
    Store.failures = 0
    run(tmp_path, mode, resume=True)
    assert len(Store.committed) > drained
    assert sorted(Store.committed) == list(range(len(Store.committed))), "none is missing"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ask", [ENDS[0], *ENDS[2:]], ids=["stop", "cancel", "go on"])
def test_a_savepoint_is_answered_when_all_is_committed_that_precedes_it(
    ask: Act, mode: CommitMode, tmp_path: Path
) -> None:
    answered: Future[set[int]] = Future()
    asked: list[CompletableFuture[str]] = []

    def act(client: EmbeddedJobClient) -> None:
        asked.append(ask(client))
        asked[0].add_done_callback(lambda _: answered.set_result(set(Store.committed)))

    run(tmp_path, mode, act, retries=10, failures=6)
    path = asked[0].result(0)
    known = answered.result(30)  # who waits for a path is woken before its callbacks run
    assert Store.failures == 0
    Store.committed = []
    run(tmp_path / "fork", mode, start_from=path)
    assert known | set(Store.committed) == set(range(40)), "none is lost"
    if ask is not ENDS[3]:
        assert not known & set(Store.committed), "none is doubled"


@pytest.mark.parametrize("at", [1, 2, 3])
def test_what_a_loop_gives_until_a_savepoint_fails_is_committed(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the job ends in epochs that no checkpoint follows."""

    def full(*args: Any) -> None:
        raise CheckpointError("no space left")

    monkeypatch.setattr(savepoint_writer, "write_canonical_savepoint", full)
    asked: list[CompletableFuture[str]] = []
    with run_local(epoch_records=4, checkpoint_dir=str(tmp_path / "chk")) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1).enable_checkpointing(0)
        loop = env.from_collection([(n, 200) for n in range(4)]).iterate()
        stepped = loop.map(lambda pair: (pair[0], pair[1] - 1))
        loop.close_with(stepped.filter(lambda pair: pair[1] > 0))
        sink = StoreSink(CommitMode.IN_SUBTASK)
        stepped.map(lambda pair: pair[0] * 1000 + pair[1]).sink_to(sink)
        client = env.build_client("loop")

        def stop(details: JobDetails) -> None:
            if details.epochs == at:
                Store.failures = 9
                directory = str(tmp_path / "savepoints")
                asked.append(client.stop_with_savepoint(savepoint_directory=directory))

        cluster.listeners.append(stop)
        client.start().result()
    with pytest.raises(CheckpointError, match="no space left"):
        asked[0].result(0)
    assert sorted(Store.committed) == [n * 1000 + k for n in range(4) for k in range(200)]


class Waits(NumberSequenceSource):
    """Never ends."""

    def create_enumerator(self) -> SplitEnumerator:
        enumerator = super().create_enumerator()
        enumerator.no_more_splits = lambda: False  # type: ignore[method-assign]
        return enumerator


def test_a_job_that_waits_for_input_writes_its_savepoint_when_commits_have_ended(
    tmp_path: Path,
) -> None:
    """No epoch is due before the keep-warm one, far away."""

    with run_local(checkpoint_dir=str(tmp_path / "chk")):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1).enable_checkpointing(0)
        stream = env.from_source(Waits(1, 5), WatermarkStrategy.no_watermarks(), "waits")
        Store.open.clear()
        stream.sink_to(StoreSink(CommitMode.IN_BACKGROUND))
        client = env.build_client("waits").start()
        asked = client.trigger_savepoint(str(tmp_path / "savepoints"))
        with pytest.raises(TimeoutError):
            asked.result(0.2)
        assert list((tmp_path / "savepoints").iterdir()) == []
        Store.open.set()
        assert read_snapshot_manifest(asked.result(180)).manifest.pending == {}
        client.cancel()
        with pytest.raises(JobCancelledError):
            client.result(180)


@pytest.mark.parametrize("mode", MODES)
def test_cancelling_does_not_wait_for_the_next_try_of_a_commit(
    mode: CommitMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sink_commits, subtask_commits):
        monkeypatch.setattr(module, "backoff", lambda tries: 0.02 if tries < 5 else 300.0)

    def act(client: EmbeddedJobClient) -> None:
        Store.failures = 1_000
        Thread(target=cancel, args=[client]).start()

    def cancel(client: EmbeddedJobClient) -> None:
        while Store.failures > 995:
            sleep(0.01)
        client.cancel()

    started = monotonic()
    client = run(tmp_path, mode, act, retries=1_000)
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert Store.failures > 500, "tried again and again without a pause"
    assert monotonic() - started < 200
    Store.failures = 0
    run(tmp_path, mode, resume=True)
    assert sorted(Store.committed) == list(range(40))


def test_a_job_that_is_stopped_pauses_before_it_tries_a_commit_again(tmp_path: Path) -> None:
    """Many tries in a row would be no time for anything to get better."""
    stopped: list[float] = []

    def act(client: EmbeddedJobClient) -> None:
        Store.failures = 8
        Thread(target=stop, args=[client]).start()

    def stop(client: EmbeddedJobClient) -> None:
        while Store.failures == 8:
            sleep(0.01)
        client.stop()
        stopped.append(monotonic())

    client = run(tmp_path, CommitMode.BEFORE_NEXT_EPOCH, act, retries=10)
    assert client.get_job_status().result() is JobStatus.SUSPENDED
    assert Store.failures == 0
    assert monotonic() - stopped[0] > 0.2 + 0.4


class FailsAtTheEnd(JobObserver):
    """Lets the last commits fail."""

    def accepted(self, acks: Sequence[Ack]) -> None:
        if all(ack.progress.ended for ack in acks) and not Store.failures:
            Store.failures = 1_000


@pytest.mark.parametrize("mode", MODES)
def test_the_last_commits_of_a_finished_job_are_made_once(mode: CommitMode, tmp_path: Path) -> None:
    """However often it is resumed."""
    run(tmp_path, mode, observer=FailsAtTheEnd())
    assert len(Store.committed) < 40
    Store.failures = 1
    client = run(tmp_path, mode, resume=True)
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert sorted(Store.committed) == list(range(40))
    commits = Store.commits
    run(tmp_path, mode, resume=True)
    assert Store.commits == commits


class FakeSinks:
    """Sinks that have committed all up to a checkpoint."""

    oldest: int | None = None

    def oldest_uncommitted(self) -> int | None:
        return self.oldest


class Notes(JobObserver):
    """Stands for the checkpoints, too."""

    def __init__(self) -> None:
        self.noted: list[int] = []
        self.announced: list[str] = []

    def note_committed(self, checkpoint: int) -> None:
        self.noted.append(checkpoint)

    def committed(self, manifest: Any) -> None:
        self.announced.append(manifest.name)


@dataclass
class Named:
    """Stands for a manifest."""

    name: str
    pending: dict[str, list[bytes]]


def test_checkpoints_are_announced_while_later_ones_are_being_committed() -> None:
    sinks: Any = FakeSinks()
    notes: Any = Notes()
    committed = CommittedCheckpoints(notes, [notes])
    for number, manifest in enumerate("abcd", 1):
        # what names nothing to commit needs no note
        pending = {} if manifest == "c" else {"sink": [b"part"]}
        sinks.oldest = max(1, number - 1)
        committed.add(number, Named(manifest, pending))  # type: ignore[arg-type]
        committed.announce(sinks)
    assert (notes.noted, notes.announced) == ([1, 2], ["a", "b"])
    assert committed.includes(2)
    assert not committed.includes(3)
    sinks.oldest = None
    committed.announce(sinks)
    assert (notes.noted, notes.announced) == ([1, 2, 4], ["a", "b", "d"])
    committed.add(5, None)
    committed.announce(sinks)
    assert (notes.noted[-1], notes.announced[-1]) == (5, "d"), "a former run's is announced no more"
