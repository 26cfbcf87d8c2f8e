"""The epoch loop: when epochs run, what a failure costs, when checkpoints and results come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from millrace.common import Configuration, RestartStrategies, Time, WatermarkStrategy
from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import (
    CheckpointError,
    JobCancelledError,
    JobExecutionError,
    UserFunctionError,
)
from millrace.common.job import JobStatus
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
from millrace.common.source import (
    Boundedness,
    SourceSplit,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import RowBatch
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.executor import EpochHooks, ExecutorError
from millrace.engine.job_observer import JobObserver
from millrace.engine.sink_coordinator import SinkCoordinator
from millrace.runtime.epoch import Ack, EpochPlan, RestoredStart
from millrace.runtime.program import Program
from millrace.testing import CollectingSink, LocalExecutor, ManualClock, run_local

KEEP_WARM = 45_000


class Idle(SplitSource[int]):
    """Gives its records, then nothing for ever; wakes up when told to."""

    def __init__(self, *values: int, wakeups: dict[int, list[int]] | None = None) -> None:
        self.values, self.wakeups = values, wakeups

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> StaticEnumerator:
        return StaticEnumerator([SourceSplit("one")])

    def create_split_reader(self, split, position, context) -> IdleReader:
        return IdleReader(self, position or 0, context.current_time)


class IdleReader(SplitReader[int]):
    def __init__(self, source: Idle, next_index: int, now: Callable[[], int]) -> None:
        self.source, self.next, self.now = source, next_index, now

    def read(self, max_records: int) -> RowBatch[int]:
        values = list(self.source.values[self.next :])
        self.next += len(values)
        return RowBatch(values)

    def position(self) -> int:
        return self.next

    def next_wakeup(self, now: int) -> int:
        return now + 10**9


class Double(LocalExecutor):
    """Does what `script` says before each attempt of an epoch; keeps the plans."""

    def __init__(self, script: Callable[[EpochPlan], Any] = lambda plan: None) -> None:
        super().__init__()
        self.script = script
        self.plans: list[EpochPlan] = []
        self.deployed = 0
        self.closed = False

    def prepare(self, program: Program) -> CompletableFuture[None]:
        return CompletableFuture.completed(None)

    def deploy(self, program: Program) -> None:
        super().deploy(program)
        self.deployed += 1

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        self.plans.append(plan)
        self.script(plan)
        return super().run_epoch(plan)

    def tries(self) -> list[tuple[int, int]]:
        return [(plan.epoch, plan.attempt) for plan in self.plans]

    def close(self) -> None:
        super().close()
        self.closed = True


def environment(configuration: dict[str, str] | None = None) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(Configuration(configuration))


def idle_stream(env: StreamExecutionEnvironment, *values: int):
    return env.from_source(Idle(*values), WatermarkStrategy.no_watermarks(), "idle")


def fail_times(count: int):
    """Fails on its first ``count`` calls; a file counts, for functions are shipped by value."""
    left = [count]

    def script(plan: EpochPlan) -> None:
        if left[0]:
            left[0] -= 1
            raise ExecutorError("the cluster had a bad day")

    return script


class Flaky(KeyedProcessFunction):
    """Fails while the clock is below ``until``."""

    def __init__(self, until: int) -> None:
        self.until = until

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        if ctx.timer_service().current_processing_time() < self.until:
            raise ValueError("not yet")
        yield value, self.count.value()


class Alarm(KeyedProcessFunction):
    def process_element(self, value, ctx):
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + value)

    def on_timer(self, timestamp, ctx):
        yield timestamp


# -- pace ------------------------------------------------------------------------------------


def test_an_idle_job_runs_an_epoch_only_to_keep_warm() -> None:
    with run_local(epoch_limit=5) as cluster:
        env = environment()
        idle_stream(env, 1, 2).print()
        with pytest.raises(RuntimeError, match="after 5 epochs"):
            env.execute()
    assert [p.records for p in cluster.progress] == [2] * 5
    # the first epoch is saved when the interval is over, which takes no epoch
    checkpoint = [0, 1_000, 1_000]
    assert cluster.clock.waits == checkpoint + [KEEP_WARM * n for n in (1, 1, 2, 2, 3, 3, 4)]


def test_a_timer_wakes_the_job_when_it_is_due() -> None:
    with run_local(clock=ManualClock(1_000)) as cluster:
        env = environment()
        stream = idle_stream(env, 700, 50).key_by(lambda v: v).process(Alarm())
        assert stream.execute_and_collect(limit=2) == [1050, 1700]
    assert cluster.clock.waits[:4] == [1000, 1050, 1050, 1700]


def test_reading_goes_on_without_waiting_while_there_is_more() -> None:
    with run_local(epoch_records=10) as cluster:
        env = environment()
        env.from_collection(range(100)).print()
        env.execute()
    assert len(cluster.progress) == 10
    assert cluster.clock.waits == []


def test_the_least_interval_between_epochs() -> None:
    with run_local(epoch_records=10) as cluster:
        env = environment({"millrace.epoch.min-interval": "30 ms"})
        env.from_collection(range(40)).print()
        env.execute()
    assert cluster.clock.waits == [0, 30, 30, 60, 60, 90]


def test_a_source_is_polled_if_it_does_not_say_when() -> None:
    class Polled(Idle):
        def create_split_reader(self, split, position, context):
            reader = super().create_split_reader(split, position, context)
            reader.next_wakeup = lambda now: None  # type: ignore[assignment, method-assign]
            return reader

    with run_local(epoch_limit=4) as cluster:
        env = environment({"millrace.source.poll-interval": "20 ms"})
        env.from_source(Polled(1), WatermarkStrategy.no_watermarks(), "polled").print()
        with pytest.raises(RuntimeError, match="after 4"):
            env.execute()
    assert cluster.clock.now() == 60


# -- failures --------------------------------------------------------------------------------


def test_a_lost_epoch_runs_again_and_counts_once() -> None:
    executor = Double(fail_times(3))
    with run_local(executor=lambda: executor):
        env = environment()
        assert list(env.from_collection([1, 2]).execute_and_collect()) == [1, 2]
    assert executor.tries() == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert executor.closed


def test_an_epoch_that_is_always_lost_fails_the_job() -> None:
    executor = Double(fail_times(100))
    with run_local(executor=lambda: executor) as cluster:
        env = environment()
        env.from_collection([1]).print()
        with pytest.raises(JobExecutionError, match="lost 6 times in a row: the cluster had"):
            env.execute()
    assert executor.closed
    assert cluster.clock.now() == 200 + 400 + 800 + 1_600, "a pause before each try but the second"


def test_losses_without_end_are_a_matter_of_the_restart_strategy() -> None:
    """A store or a cluster that is away for minutes comes back."""
    strategy = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "2",
        "restart-strategy.fixed-delay.delay": "1 min",
    }
    with run_local(executor=lambda: Double(fail_times(15))) as cluster:
        env = environment(strategy)
        env.from_collection([1]).print()
        env.execute()
    assert cluster.progress[-1].restarts == 2
    assert cluster.clock.now() == 2 * (3_000 + 60_000) + 200 + 400
    with run_local(executor=lambda: Double(fail_times(18))):
        env = environment(strategy)
        env.from_collection([1]).print()
        with pytest.raises(JobExecutionError, match="lost 6 times in a row: the cluster had"):
            env.execute()


def test_a_job_without_its_cluster_is_not_tried_again() -> None:
    def script(plan: EpochPlan) -> None:
        raise JobExecutionError("the cluster has gone")

    executor = Double(script)
    with run_local(executor=lambda: executor):
        env = environment()
        env.from_collection([1]).print()
        with pytest.raises(JobExecutionError, match="the cluster has gone"):
            env.execute()
    assert executor.tries() == [(0, 0)]


def test_a_job_that_is_cancelled_while_its_cluster_goes_has_not_failed() -> None:
    def script(plan: EpochPlan) -> None:
        client.cancel()
        raise JobExecutionError("the cluster has gone")

    with run_local(executor=lambda: Double(script)):
        env = environment()
        env.from_collection([1]).print()
        client = env.build_client("job")
        client.run()
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_losses_are_counted_in_a_row() -> None:
    losses = {(epoch, attempt) for epoch in range(4) for attempt in range(4)}

    def script(plan: EpochPlan) -> None:
        if (plan.epoch, plan.attempt) in losses:
            raise ExecutorError("lost")

    with run_local(executor=lambda: Double(script), epoch_records=1) as cluster:
        env = environment()
        env.from_collection(range(4)).print()
        env.execute()
    assert cluster.progress[-1].records == 4


def test_without_a_restart_strategy_a_users_failure_fails_the_job() -> None:
    executor = Double()
    with run_local(executor=lambda: executor):
        env = environment()
        env.from_collection([1]).key_by(lambda v: v).process(Flaky(10**9)).print()
        with pytest.raises(UserFunctionError, match="not yet"):
            env.execute()
    assert executor.tries() == [(0, 0)]


def test_a_fixed_delay_counts_failures_and_waits() -> None:
    executor = Double()
    with run_local(executor=lambda: executor) as cluster:
        env = environment()
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 500))
        stream = env.from_collection([1, 1]).key_by(lambda v: v).process(Flaky(1_400))
        assert list(stream.execute_and_collect()) == [(1, 1), (1, 2)]
    assert executor.tries() == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert cluster.clock.waits == [0, 500, 500, 1000, 1000, 1500]
    assert cluster.progress[-1].restarts == 3


def test_one_failure_too_many() -> None:
    with run_local():
        env = environment()
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 500))
        env.from_collection([1]).key_by(lambda v: v).process(Flaky(1_400)).print()
        with pytest.raises(UserFunctionError):
            env.execute()


def test_a_failure_rate_from_the_configuration() -> None:
    settings = {
        "restart-strategy.type": "failure-rate",
        "restart-strategy.failure-rate.max-failures-per-interval": "2",
        "restart-strategy.failure-rate.failure-rate-interval": "10 s",
        "restart-strategy.failure-rate.delay": "6 s",
    }
    with run_local() as cluster:
        env = environment(settings)
        stream = env.from_collection([1]).key_by(lambda v: v).process(Flaky(60_000))
        assert list(stream.execute_and_collect()) == [(1, 1)]
    assert cluster.progress[-1].restarts == 10


def test_a_worker_without_state_gets_all_of_it_in_the_next_attempt() -> None:
    executor = Double()

    def forget(plan: EpochPlan) -> None:
        if plan.epoch >= 2 and plan.attempt == 0:
            executor._workers[0] = executor._worker(0)

    executor.script = forget
    with run_local(executor=lambda: executor, epoch_records=2) as cluster:
        env = environment()
        stream = env.from_collection([1] * 8).key_by(lambda v: v).process(Flaky(0))
        assert list(stream.execute_and_collect()) == [(1, n) for n in range(1, 9)]
    assert executor.tries() == [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0), (3, 1)]
    restores = [
        [isinstance(part.start, RestoredStart) for part in plan.subtasks.values()]
        for plan in executor.plans
    ]
    assert restores[2:4] == [[False, False], [True, True]]
    assert cluster.progress[-1].refused == 0


# -- checkpoints and results -----------------------------------------------------------------


def test_checkpoints_come_at_their_interval_and_at_the_end() -> None:
    with run_local(epoch_records=1) as cluster:
        cluster.listeners.append(lambda progress: cluster.clock.advance(40))
        env = environment({"execution.checkpointing.interval": "100 ms"})
        env.from_collection(range(8)).print()
        cluster.clock.set(1_000)
        env.execute()
    assert [p.checkpoint for p in cluster.progress] == [1, 1, 1, 2, 2, 2, 3, 4]


def test_an_interval_of_zero_means_every_epoch() -> None:
    with run_local(epoch_records=1) as cluster:
        env = environment().enable_checkpointing(0)
        env.from_collection(range(3)).print()
        env.execute()
    assert [p.checkpoint for p in cluster.progress] == [1, 2, 3]


def test_batch_mode_has_one_checkpoint_at_its_end_however_many_epochs_it_takes() -> None:
    with run_local(epoch_records=1, clock=ManualClock(10**6)) as cluster:
        env = environment({"execution.runtime-mode": "BATCH"})
        env.from_collection(range(3)).print()
        env.execute()
    assert [p.checkpoint for p in cluster.progress] == [None, None, 1]


def test_resuming_goes_on_with_state_and_positions(tmp_path) -> None:
    def run(resume: bool, stop_after: int) -> list[Any]:
        with run_local(epoch_records=2, checkpoint_dir=str(tmp_path), resume=resume) as cluster:
            env = environment({"execution.checkpointing.interval": "0 ms"})
            stream = env.from_collection([1] * 10).key_by(lambda v: v).process(Flaky(0))
            started: Future[EmbeddedJobClient] = Future()
            cluster.listeners.append(
                lambda progress: (
                    started.result(60).stop() if progress.epochs == stop_after else None
                )
            )
            results = stream.execute_and_collect("resumed")
            client = results._client
            assert client is not None
            started.set_result(client)
            got = []
            try:
                got.extend(results)
            except JobCancelledError:
                assert client.get_job_status().result() is JobStatus.SUSPENDED
            return got

    first = []
    while len(first) < 10:
        got = run(resume=bool(first), stop_after=2)
        assert got
        first += got
    assert first == [(1, n) for n in range(1, 11)]
    assert run(resume=True, stop_after=2) == [], "a finished job has nothing left to do"
    assert len(run(resume=False, stop_after=99)) == 10


def test_failed_checkpoints_are_tolerated_as_often_as_allowed(monkeypatch) -> None:
    publish, failures = CheckpointCoordinator.publish, [1, 2, 4]

    def flaky(self, **content):
        if content["epoch"] in failures:
            raise CheckpointError("the disk is full")
        return publish(self, **content)

    monkeypatch.setattr(CheckpointCoordinator, "publish", flaky)
    tolerable = "execution.checkpointing.tolerable-failed-checkpoints"
    settings = {"execution.checkpointing.interval": "0 ms", tolerable: "2"}
    with run_local(epoch_records=1) as cluster:
        env = environment(settings)
        assert list(env.from_collection(range(5)).execute_and_collect()) == list(range(5))
        assert [p.checkpoint for p in cluster.progress] == [None, None, 1, 1, 2]
        env = environment({**settings, tolerable: "1"})
        env.from_collection(range(5)).print()
        with pytest.raises(CheckpointError, match="disk is full"):
            env.execute()


class KeptOpen(Double):
    """Epochs that are kept open, with a barrier every 100 ms, each of which takes its own time."""

    keeps_epochs_open = True

    def __init__(self, clock: ManualClock, rounds: list[int]) -> None:
        super().__init__()
        self.clock, self.rounds = clock, rounds

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        assert hooks is not None
        number = len(self.plans)
        self.clock.set(100 * (number + 1))
        hooks.closing(self.clock.now(), True)
        self.clock.advance(self.rounds[number])
        return super().run_epoch(plan)


def test_intervals_of_checkpoints_are_from_barrier_to_barrier() -> None:
    """Not from acceptance to acceptance: a barrier that is quicker than the last one would leave
    its epoch without a checkpoint."""
    clock, rounds = ManualClock(), [9, 3, 5, 1, 4]
    with run_local(clock=clock, executor=lambda: KeptOpen(clock, rounds)) as cluster:
        env = environment({"execution.checkpointing.interval": "100 ms"})
        idle_stream(env, 1).print()
        client = env.build_client("job")
        done = lambda progress: client.cancel() if progress.epochs == len(rounds) else None  # noqa: E731
        cluster.listeners.append(done)
        client.run()
    assert [progress.checkpoint for progress in cluster.progress[:5]] == [1, 2, 3, 4, 5]


class Begun(Sink[int], Committer):
    """Notes the calls of its committer, and the checkpoints."""

    commit_mode = CommitMode.IN_BACKGROUND

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[int]:
        return BegunWriter()

    def create_committer(self, context: CommitterContext) -> Committer:
        return self

    def begin_commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        self.calls.append(("begin", [request.committable for request in requests]))

    def abandon_commit(self) -> None:
        self.calls.append("abandon")

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        self.calls.append(("commit", [request.committable for request in requests]))


class BegunWriter(SinkWriter[int]):
    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self.values: list[int] = []

    def write(self, batch: RowBatch[int]) -> None:
        self.values += batch.values

    def prepare_commit(self, end_of_input: bool) -> Sequence[int]:
        return self.values


def test_commits_begin_while_the_checkpoint_is_written(monkeypatch) -> None:
    """And are abandoned if it fails: the next one has its committables, too. While checkpoints
    fail, none begins early."""
    publish, sink = CheckpointCoordinator.publish, Begun()

    def noted(self, **content):
        sink_calls_end(sink, content["epoch"])
        if content["epoch"] in (2, 3):
            raise CheckpointError("the disk is full")
        return publish(self, **content)

    def sink_calls_end(sink: Begun, epoch: int) -> None:
        """Wait for what was begun, as it is done in a thread."""
        background = jobs[0]._background
        if background._pool is not None:
            background._pool.submit(lambda: None).result(30)
        sink.calls.append(epoch)

    jobs: list[SinkCoordinator] = []
    create = SinkCoordinator.__init__

    def kept(self, nodes, retries=10):
        create(self, [replace(node, sink=sink) for node in nodes], retries)
        jobs.append(self)

    monkeypatch.setattr(SinkCoordinator, "__init__", kept)
    monkeypatch.setattr(CheckpointCoordinator, "publish", noted)
    tolerable = "execution.checkpointing.tolerable-failed-checkpoints"
    with run_local(epoch_records=1):
        env = environment({"execution.checkpointing.interval": "0 ms", tolerable: "2"})
        env.from_collection([1, 2, 3, 4, 5]).sink_to(Begun())
        env.execute()
    assert sink.calls == [
        *(("begin", [1]), 1, ("commit", [1])),
        *(("begin", [2]), 2, "abandon"),
        *(3, 4, ("commit", [2, 3, 4])),
        *(("begin", [5]), 5, ("commit", [5])),
    ]


def test_results_wait_for_the_checkpoint_that_makes_them_durable(monkeypatch) -> None:
    seen: list[tuple[int, Any]] = []
    epochs = [0]

    def handler(values, subtask, subtasks) -> None:
        seen.append((epochs[0], values))

    publish = CheckpointCoordinator.publish

    def noted(self, **content):
        epochs[0] = content["epoch"]
        if content["epoch"] == 1:
            raise CheckpointError("no")
        return publish(self, **content)

    monkeypatch.setattr(CheckpointCoordinator, "publish", noted)
    tolerable = "execution.checkpointing.tolerable-failed-checkpoints"
    with run_local(epoch_records=1):
        env = environment({"execution.checkpointing.interval": "0 ms", tolerable: "1"})
        env.from_collection(range(3)).print()
        (sink,) = env._sinks
        env.add_result_handler(sink, handler)
        env.execute()
    assert seen == [(2, [0]), (2, [1]), (3, [2])]


# -- control ---------------------------------------------------------------------------------


def test_cancel_between_epochs() -> None:
    with run_local() as cluster:
        env = environment()
        idle_stream(env, 1).print()
        client = env.build_client("job")
        cluster.listeners.append(lambda progress: client.cancel())
        client.run()
        with pytest.raises(JobCancelledError, match="cancelled"):
            client.result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert len(cluster.progress) == 1


def test_cancel_during_an_epoch() -> None:
    def script(plan: EpochPlan) -> None:
        client.cancel()
        raise ExecutorError("cancelled underneath")

    with run_local(executor=lambda: Double(script)):
        env = environment()
        idle_stream(env, 1).print()
        client = env.build_client("job")
        client.run()
        with pytest.raises(JobCancelledError):
            client.result()


def test_stop_makes_a_checkpoint_first() -> None:
    with run_local(epoch_records=1) as cluster:
        env = environment({"execution.checkpointing.interval": "1 h"})
        env.from_collection(range(100)).print()
        client = env.build_client("job")
        cluster.listeners.append(lambda p: client.stop() if p.epochs == 3 else None)
        client.run()
        with pytest.raises(JobCancelledError, match="stopped after a checkpoint"):
            client.result()
    assert client.progress().checkpoint == 1


def test_stop_during_a_restart_delay_does_not_wait() -> None:
    def script(plan: EpochPlan) -> None:
        client.stop()

    with run_local(executor=lambda: Double(script)) as cluster:
        env = environment()
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, Time.hours(1)))
        env.from_collection([1]).key_by(lambda v: v).process(Flaky(10)).print()
        client = env.build_client("job")
        client.run()
        with pytest.raises(JobCancelledError):
            client.result()
    assert cluster.clock.now() == 0


class Notes(JobObserver):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def started(self, job_dir: str) -> None:
        self.told.append("started")

    def accepted(self, acks) -> None:
        self.told.append(sum(ack.traffic.records_in for ack in acks))

    def committed(self, manifest) -> None:
        self.told.append(("committed", manifest.checkpoint, manifest.finished))

    def closed(self) -> None:
        self.told.append("closed")


def test_an_observer_is_told_what_a_job_does(tmp_path) -> None:
    notes = Notes()
    with run_local(checkpoint_dir=str(tmp_path), epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(0)
        env.from_collection([1, 2, 3]).print()
        client = env.build_client("observed")
        client._manager.observe(notes)
        client.run()
    assert notes.told == [
        "started", 2, ("committed", 1, False), 1, ("committed", 2, True), "closed",
    ]  # fmt: skip


class Witness(JobObserver):
    """Looks, when a checkpoint is announced, at what the sink has committed by then."""

    def __init__(self, sink: CollectingSink[int]) -> None:
        self.sink = sink
        self.seen: list[int] = []

    def committed(self, manifest) -> None:
        self.seen.append(len(self.sink.values()))


def test_a_commit_is_announced_when_the_sinks_have_committed() -> None:
    sink: CollectingSink[int] = CollectingSink()
    with run_local(epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(0)
        env.from_collection([1, 2, 3]).sink_to(sink)
        client = env.build_client("announced")
        witness = Witness(sink)
        client._manager.observe(witness)
        client.run()
        client.result()
    assert witness.seen == [2, 3]
