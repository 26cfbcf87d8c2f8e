"""Commits that only the subtask that wrote can make."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, ClassVar

import pytest

from millrace.common import Time, WatermarkStrategy
from millrace.common.completable_future import CompletableFuture
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobCancelledError, JobExecutionError
from millrace.common.sink import (
    CommitMode,
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import RowBatch
from millrace.common.window import TumblingEventTimeWindows
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_observer import JobObserver
from millrace.engine.subtask_commits import SubtaskCommits
from millrace.runtime.epoch import Ack, CommitPlan, CommitReport, Uncommitted
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.serialization.payload import decode, encode
from millrace.testing import Faults, run_local


def commits(parallelism: int = 2, retries: int = 3) -> SubtaskCommits:
    return SubtaskCommits("out", parallelism, retries)


def entry(subtask: int, name: str) -> bytes:
    return encode((subtask, name))


def answer(subtask: int, *left: bytes) -> Ack:
    uncommitted = {"s": Uncommitted(list(left), "OSError: not now")} if left else {}
    return Ack(0, subtask, 0, committing=CommitReport(uncommitted=uncommitted))


def test_each_subtask_gets_its_own_until_it_has_answered() -> None:
    made = commits()
    made.add([entry(0, "a"), entry(1, "b")], 1)
    assert made.plan(0, 0) == (CommitPlan(entry(0, "a")),)
    assert made.plan(0, 0) == (CommitPlan(entry(0, "a")),), "the epoch failed"
    made.plan(1, 0)
    made.accept("s", answer(0), 0)
    assert made.committables() == [entry(1, "b")]
    made.accept("s", answer(1), 0)
    assert made.due() is None


def test_what_came_after_the_plan_is_not_taken_for_committed() -> None:
    made = commits()
    made.add([entry(0, "a")], 1)
    made.plan(0, 0)
    made.add([entry(0, "b")], 1)
    made.accept("s", answer(0), 0)
    assert made.committables() == [entry(0, "b")]


def test_a_retry_waits_for_its_time_and_counts() -> None:
    made = commits()
    made.add([entry(0, "a")], 1)
    made.plan(0, 0)
    made.accept("s", answer(0, entry(0, "rest")), 1_000)
    assert made.due() == 1_100
    assert made.plan(0, 1_050) == ()
    assert made.plan(0, 1_100) == (CommitPlan(entry(0, "rest"), 1),)
    made.accept("s", answer(0, entry(0, "rest")), 1_100)
    assert made.due() == 1_300


def test_too_many_retries_fail_the_job() -> None:
    made = commits(retries=0)
    made.add([entry(0, "a")], 1)
    made.plan(0, 0)
    with pytest.raises(JobExecutionError, match="be committed in 1 tries: OSError: not now"):
        made.accept("s", answer(0, entry(0, "a")), 0)


def test_newer_checkpoints_wait_for_a_retry_of_their_subtask() -> None:
    made = commits()
    made.add([entry(0, "a"), entry(0, "b")], 1)
    made.plan(0, 0)
    made.accept("s", answer(0, entry(0, "a")), 0)
    made.add([entry(0, "c"), entry(1, "d")], 2)
    assert made.due() == 0, "another subtask's"
    assert made.plan(0, 50) == ()
    assert made.plan(1, 50) == (CommitPlan(entry(1, "d")),)
    made.accept("s", answer(1), 50)
    assert made.due() == 100
    plan = (CommitPlan(entry(0, "a"), 1), CommitPlan(entry(0, "c"), 0, 1))
    assert made.plan(0, 100) == plan
    refused = Uncommitted([entry(0, "rest")], "", untried=1)
    made.accept("s", Ack(0, 0, 0, committing=CommitReport(uncommitted={"s": refused})), 100)
    assert made.committables() == [entry(0, "rest"), entry(0, "c")]
    plan = (CommitPlan(entry(0, "rest"), 2), CommitPlan(entry(0, "c"), 0, 1))
    assert made.plan(0, 300) == plan, "one that was not tried has not failed"
    made.accept("s", answer(0), 300)
    assert made.due() is None


def test_with_fewer_subtasks_another_one_commits() -> None:
    made = commits(parallelism=2)
    made.add([entry(3, "a")], 1)
    assert made.plan(1, 0) == (CommitPlan(entry(3, "a")),)


def test_all_that_was_restored_is_committed_before_anything_else() -> None:
    """Another parallelism had the same keys in other subtasks."""
    made = commits(parallelism=2)
    made.add([entry(1, "old"), entry(0, "a"), entry(1, "b")], 1, restored=1)
    assert made.plan(0, 0) == ()
    assert made.plan(1, 0) == (CommitPlan(entry(1, "old")),)
    made.accept("s", answer(0), 0)
    made.accept("s", answer(1, entry(1, "rest")), 0)
    assert made.due() == 100, "the others wait for it, too"
    assert made.plan(0, 50) == made.plan(1, 50) == ()
    assert made.plan(1, 100) == (CommitPlan(entry(1, "rest"), 1),)
    made.accept("s", answer(1), 100)
    assert made.plan(0, 100) == (CommitPlan(entry(0, "a")),)
    assert made.plan(1, 100) == (CommitPlan(entry(1, "b")),)


def test_restored_committables_of_several_runs_keep_the_order_of_their_epochs() -> None:
    """The first run had four subtasks, the second had two and has died before it committed."""
    made = commits(parallelism=2)
    made.add([entry(3, "A")], 1, restored=1)
    made.add([entry(0, "B")], 2)
    kept = made.committables()
    assert kept == [entry(3, "A"), entry(0, "B")]
    again = commits(parallelism=2)
    again.add([*kept, entry(0, "C")], 3, restored=2)
    assert again.plan(0, 0) == ()
    assert again.plan(1, 0) == (CommitPlan(entry(3, "A")), CommitPlan(entry(0, "B")))
    again.accept("s", answer(0), 0)
    again.accept("s", answer(1), 0)
    assert again.plan(0, 0) == (CommitPlan(entry(0, "C")),)


class Server:
    """Transactions by name: open ones belong to the connection that began them."""

    committed: ClassVar[dict[str, list[Any]]] = {}
    refusals: ClassVar[int] = 0


class Transactional(Sink[Any]):
    commit_mode = CommitMode.IN_SUBTASK

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return TransactionWriter()

    def create_committer(self, context: CommitterContext) -> Committer:
        return TransactionCommitter(context)


class TransactionWriter(SinkWriter[Any]):
    def __init__(self) -> None:
        self.open: dict[str, list[Any]] = {}

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self.attempt = epoch.attempt
        self.records: list[Any] = []

    def write(self, batch: RowBatch[Any]) -> None:
        self.records += batch.values

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if not self.records:
            return []
        self.open[self.attempt] = self.records
        return [(self.attempt, self.records)]


class TransactionCommitter(Committer):
    def __init__(self, context: CommitterContext) -> None:
        self.context = context

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        for request in requests:
            transaction, records = request.committable
            assert self.context.subtask_index is not None
            if Server.refusals:
                Server.refusals -= 1
                request.retry_later()
            elif transaction in Server.committed:
                request.signal_already_committed()
            else:
                # a transaction whose connection is gone would be resumed by its name
                assert isinstance(self.context.writer, TransactionWriter)
                self.context.writer.open.pop(transaction, None)
                Server.committed[transaction] = records


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Server.committed = {}
    Server.refusals = 0


def run(count: int = 40, **settings: Any) -> list[Any]:
    with run_local(epoch_records=4, **settings):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection(list(range(count))).rebalance().map(str).sink_to(Transactional())
        env.execute("transactions")
    return sorted(int(v) for records in Server.committed.values() for v in records)


def test_all_is_committed_by_subtasks_before_the_job_ends() -> None:
    assert run() == list(range(40))
    assert len(Server.committed) > 3


def test_refused_commits_are_tried_again() -> None:
    Server.refusals = 3
    assert run() == list(range(40))


class Refusing(Transactional):
    """Refuses each transaction up to three times, whatever the others are."""

    def create_committer(self, context: CommitterContext) -> Committer:
        return RefusingCommitter()


class RefusingCommitter(Committer):
    tries: ClassVar[dict[str, int]] = {}
    refusals: ClassVar[Random]
    order: ClassVar[list[int]]
    counts: ClassVar[list[int]]

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        for request in requests:
            transaction, records = request.committable
            left = self.tries.setdefault(transaction, self.refusals.randrange(4))
            self.counts.append(left)
            if left:
                self.tries[transaction] = left - 1
                request.retry_later()
            else:
                self.order += map(int, records)


@pytest.mark.parametrize("seed", range(3))
def test_commits_keep_the_order_of_their_epochs_when_some_are_refused(seed: int) -> None:
    """Each checkpoint is of one epoch here."""
    committer = RefusingCommitter
    committer.tries, committer.order, committer.counts = {}, [], []
    committer.refusals = Random(seed)
    with run_local(epoch_records=4, seed=seed, faults=Faults(lost_epochs=0.1)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1).enable_checkpointing(0)
        env.from_collection(list(range(60))).map(str).sink_to(Refusing())
        env.execute("transactions")
    order = list(dict.fromkeys(committer.order))
    assert order == list(range(60))
    assert any(committer.counts), "none was refused"


@pytest.mark.parametrize("seed", range(4))
def test_lost_epochs_and_workers_double_nothing(seed: int, tmp_path: Path) -> None:
    faults = Faults(lost_workers=0.2, lost_epochs=0.2)
    assert run(seed=seed, faults=faults, checkpoint_dir=str(tmp_path)) == list(range(40))


def told(path: Path, act: Any, start_from: str | None = None, resume: bool = False) -> list[Any]:
    """Run the job, which is told something after its fourth epoch; the answers."""
    answers: list[Any] = []
    settings = Configuration()
    settings.set(options.SAVEPOINT_DIR, str(path / "savepoints"))
    if start_from is not None:
        settings.set(options.START_FROM, start_from)
    with run_local(
        epoch_records=2, workers=2, seed=1, checkpoint_dir=str(path / "chk"), resume=resume
    ) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.set_parallelism(2).enable_checkpointing(0)
        numbers = env.from_collection(list(range(40))).uid("numbers")
        numbers.rebalance().map(str).uid("text").sink_to(Transactional()).uid("sink")
        client = env.build_client("transactions")
        cluster.listeners.append(
            lambda details: answers.append(act(client)) if details.epochs == 4 else None
        )
        with suppress(JobCancelledError):
            client.start().get_job_execution_result().result()
    return [answer.result() for answer in answers]


def committed() -> list[int]:
    return sorted(int(v) for records in Server.committed.values() for v in records)


@pytest.mark.parametrize("refusals", [0, 3])
@pytest.mark.parametrize("end", ["stop_with_savepoint", "cancel_with_savepoint"])
def test_what_precedes_a_savepoint_is_committed_before_the_job_ends(
    end: str, refusals: int, tmp_path: Path
) -> None:
    """And nothing that follows it: the job that starts there does the rest, once."""

    def act(client: Any) -> Any:
        Server.refusals = refusals
        return getattr(client, end)()

    [savepoint] = told(tmp_path, act)
    before = committed()
    assert 4 <= len(before) < 40
    told(tmp_path, lambda client: CompletableFuture.completed(None), start_from=savepoint)
    assert committed() == list(range(40))


@pytest.mark.parametrize("parallelism", [1, 3])
def test_what_waits_when_the_job_is_rescaled_is_committed_by_others(
    parallelism: int, tmp_path: Path
) -> None:
    def act(client: Any) -> Any:
        Server.refusals = 2
        return client.rescale(parallelism)

    told(tmp_path, act)
    assert committed() == list(range(40))


@pytest.mark.parametrize("refusals", [0, 3])
def test_what_a_stopped_job_left_is_committed_by_the_one_that_resumes(
    refusals: int, tmp_path: Path
) -> None:
    def act(client: Any) -> Any:
        Server.refusals = refusals
        client.stop()
        return CompletableFuture.completed(None)

    told(tmp_path, act)
    assert len(committed()) < 40
    told(tmp_path, lambda client: CompletableFuture.completed(None), resume=True)
    assert committed() == list(range(40))


def test_a_stopped_jobs_input_does_not_end(tmp_path: Path) -> None:
    """While the last commits are made, the source reads nothing, which is not its end."""

    def build(path: Path, start_from: str | None) -> Any:
        settings = Configuration()
        settings.set(options.SAVEPOINT_DIR, str(path / "savepoints"))
        if start_from is not None:
            settings.set(options.START_FROM, start_from)
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.set_parallelism(2).enable_checkpointing(0)
        numbers = env.from_collection([(0, n) for n in range(40)]).uid("numbers")
        timed = numbers.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v[1])
        ).uid("timed")
        windows = timed.key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of(Time.hours(1)))
        sums = windows.reduce(lambda a, b: (0, a[1] + b[1])).uid("sums")
        numbers.union(sums).map(lambda v: v[1]).uid("n").sink_to(Transactional()).uid("sink")
        return env.build_client("sums")

    def go(start_from: str | None = None) -> Any:
        paths: list[Any] = []
        with run_local(epoch_records=2, seed=1, checkpoint_dir=str(tmp_path / "c")) as cluster:
            client = build(tmp_path, start_from)

            def stop(details: Any) -> None:
                if start_from is None and details.epochs == 4:
                    paths.append(client.stop_with_savepoint())

            cluster.listeners.append(stop)
            client.start().get_job_execution_result().result()
        return [path.result() for path in paths]

    [savepoint] = go()
    assert sum(range(40)) not in committed()
    assert len(committed()) < 40, committed()
    go(savepoint)
    assert committed() == sorted([*range(40), sum(range(40))])


class Announced(JobObserver):
    """Looks, when a checkpoint is announced as committed, for what it names and nobody has."""

    def __init__(self) -> None:
        self.missing: list[str] = []

    def committed(self, manifest: Manifest) -> None:
        items = chain.from_iterable(manifest.pending.values())
        named = [decode(item)[1][0] for item in items]
        self.missing += [name for name in named if name not in Server.committed]


def test_a_rescaled_job_does_not_announce_commits_that_are_still_to_be_made(tmp_path: Path) -> None:
    """Whoever resumes would believe it and make them never."""
    announced = Announced()
    with run_local(epoch_records=2, seed=1, checkpoint_dir=str(tmp_path)) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2).enable_checkpointing(86_400_000)
        env.from_collection(list(range(40))).rebalance().map(str).sink_to(Transactional())
        client = env.build_client("transactions")
        client._manager.observe(announced)

        def rescale(details: Any) -> None:
            if details.epochs == 4:
                Server.refusals = 1
                client.rescale(3)

        cluster.listeners.append(rescale)
        client.run()
    assert committed() == list(range(40))
    assert announced.missing == []


def test_many_commits_of_one_subtask_are_accepted_in_time_that_grows_with_them() -> None:
    made = commits(parallelism=1)
    made.add([entry(0, str(n)) for n in range(20_000)], 1)
    made.plan(0, 0)
    started = process_time()
    made.accept("s", answer(0), 0)
    assert process_time() - started < 2, "each was compared with each"
    assert made.committables() == []
