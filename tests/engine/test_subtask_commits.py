"""Commits that only the subtask that wrote can make."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

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
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.subtask_commits import SubtaskCommits
from millrace.runtime.epoch import Ack, CommitPlan
from millrace.state.serialization.payload import encode
from millrace.testing import Faults, run_local


def commits(parallelism: int = 2, retries: int = 3) -> SubtaskCommits:
    return SubtaskCommits("out", parallelism, retries)


def entry(subtask: int, name: str) -> bytes:
    return encode((subtask, name))


def answer(subtask: int, *left: bytes) -> Ack:
    return Ack(0, subtask, 0, uncommitted={"s": list(left)} if left else {})


def test_each_subtask_gets_its_own_until_it_has_answered() -> None:
    made = commits()
    made.add([entry(0, "a"), entry(1, "b")])
    assert made.plan(0, 0) == (CommitPlan(entry(0, "a")),)
    assert made.plan(0, 0) == (CommitPlan(entry(0, "a")),), "the epoch failed"
    made.plan(1, 0)
    made.accept("s", answer(0), 0)
    assert made.committables() == [entry(1, "b")]
    made.accept("s", answer(1), 0)
    assert made.due() is None


def test_what_came_after_the_plan_is_not_taken_for_committed() -> None:
    made = commits()
    made.add([entry(0, "a")])
    made.plan(0, 0)
    made.add([entry(0, "b")])
    made.accept("s", answer(0), 0)
    assert made.committables() == [entry(0, "b")]


def test_a_retry_waits_for_its_time_and_counts() -> None:
    made = commits()
    made.add([entry(0, "a")])
    made.plan(0, 0)
    made.accept("s", answer(0, entry(0, "rest")), 1_000)
    assert made.due() == 1_100
    assert made.plan(0, 1_050) == ()
    assert made.plan(0, 1_100) == (CommitPlan(entry(0, "rest"), 1),)
    made.accept("s", answer(0, entry(0, "rest")), 1_100)
    assert made.due() == 1_300


def test_too_many_retries_fail_the_job() -> None:
    made = commits(retries=0)
    made.add([entry(0, "a")])
    made.plan(0, 0)
    with pytest.raises(JobExecutionError, match="'out' could not be committed in 1 tries"):
        made.accept("s", answer(0, entry(0, "a")), 0)


def test_with_fewer_subtasks_another_one_commits() -> None:
    made = commits(parallelism=2)
    made.add([entry(3, "a")])
    assert made.plan(1, 0) == (CommitPlan(entry(3, "a")),)


class Server:
    """Transactions by name: open ones belong to the connection that began them."""

    committed: ClassVar[dict[str, list[Any]]] = {}
    refusals: ClassVar[int] = 0


class Transactional(Sink[Any]):
    commit_mode = CommitMode.IN_SUBTASK

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return TransactionWriter(context)

    def create_committer(self, context: CommitterContext) -> Committer:
        return TransactionCommitter(context)


class TransactionWriter(SinkWriter[Any]):
    def __init__(self, context: WriterContext) -> None:
        self.context = context
        self.records: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records += values

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if not self.records:
            return []
        transaction = self.context.attempt
        self.context.shared[transaction] = self.records
        return [(transaction, self.records)]


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
                self.context.shared.pop(transaction, None)
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
