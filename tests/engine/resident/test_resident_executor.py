"""Whole jobs on resident tasks in threads: real sockets, no Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pytest

from millrace.common import Configuration, JobStatus, WatermarkStrategy
from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobCancelledError, JobExecutionError
from millrace.common.restart_strategy import RestartStrategies
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import Batch
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.execution_target import resident_settings
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.job_details import JobDetails
from millrace.engine.job_manager import JobManager
from millrace.engine.job_requests import CheckpointRequest, MessageRequest, RescaleRequest
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings, WhileWanted, always
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.epoch_subtask import EpochSubtask
from millrace.state.store import StateMissError
from millrace.testing import CollectingSink, LocalExecutor
from millrace.testing.resident_tasks import ThreadStarter, ThreadTasks, local_resident_executor

WORDS = ["to", "be", "or", "not", "to", "be"]
COUNTS = [("be", 1), ("be", 2), ("not", 1), ("or", 1), ("to", 1), ("to", 2)]


@pytest.fixture(autouse=True)
def resident() -> Iterator[None]:
    before = JobLauncher.current()
    settings = ResidentSettings(barrier_interval=30)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, settings)))
    yield
    JobLauncher.install(before)


def environment(**settings: str) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("execution.runtime-mode", "STREAMING")
    for key, value in settings.items():
        config.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(2)


def counted(env: StreamExecutionEnvironment) -> list[tuple[str, int]]:
    words = env.from_collection(WORDS)
    counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    return sorted(counts.execute_and_collect())


def test_a_keyed_count() -> None:
    assert counted(environment()) == COUNTS


def test_a_function_that_fails_once_is_restarted(tmp_path: Path) -> None:
    marker = tmp_path / "failed"
    env = environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))

    def once(word: str) -> str:
        if word == "not" and not marker.exists():
            marker.touch()
            raise ValueError("the first time")
        return word

    counts = env.from_collection(WORDS).map(once).map(lambda w: (w, 1))
    summed = counts.key_by(lambda pair: pair[0]).sum(1)
    assert sorted(summed.execute_and_collect()) == COUNTS
    assert marker.exists()


def test_a_function_that_fails_ends_the_job_with_its_error() -> None:
    def fail(word: str) -> str:
        raise ValueError(f"not {word}")

    with pytest.raises(JobExecutionError, match="not to"):
        list(environment().from_collection(["to"]).map(fail).execute_and_collect())


def endless(env: StreamExecutionEnvironment) -> DataStream[Any]:
    """Counts of numbers that never end, at a rate that leaves the machine idle."""
    source = DataGeneratorSource(
        lambda i: i % 7, rate_limiter_strategy=RateLimiterStrategy.per_second(500), splits=2
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    return numbers.map(lambda n: (n, 1)).key_by(lambda pair: pair[0]).sum(1)


class Epochs:
    """Lets a test wait for accepted epochs."""

    def __init__(self) -> None:
        self._accepted = Semaphore(0)

    def __call__(self, details: JobDetails) -> None:
        self._accepted.release()

    def wait(self, count: int = 1) -> None:
        for _ in range(count):
            assert self._accepted.acquire(timeout=30)


def counts_in(savepoint: str, parallelism: int = 2, **settings: str) -> dict[int, int]:
    """Highest count of each key that a job gives that goes on from a savepoint."""
    env = environment(**{"execution.state-recovery.path": savepoint, **settings})
    env.set_parallelism(parallelism)
    best: dict[int, int] = {}
    with endless(env).execute_and_collect() as results:
        for key, count in results:
            best.setdefault(key, count)
            if len(best) == 7:
                break
    return best


class Late:
    """A function that raises once, after the driver has heard that another subtask misses its
    state."""

    began, missed = Event(), Event()
    failures = 0

    @classmethod
    def fail(cls, word: str) -> str:
        if not cls.failures:
            cls.began.set()
            assert cls.missed.wait(60)
            cls.failures += 1
            raise ValueError("the only time")
        return word


def late(word: str) -> str:
    return Late.fail(word)


@pytest.mark.parametrize("attempts", [0, 1])
def test_a_failure_after_a_subtask_has_missed_its_state_is_told(
    attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The epoch runs again because of the state; the failure, which may not come again, counts."""
    monkeypatch.setattr(Late, "began", Event())
    monkeypatch.setattr(Late, "missed", Event())
    monkeypatch.setattr(Late, "failures", 0)
    begin, take_acks = EpochSubtask.begin, ResidentExecutor._take_acks

    def begin_or_miss(held: EpochSubtask, *args: Any) -> Any:
        if held.subtask.stage.inputs and held.subtask.index == 1 and not Late.missed.is_set():
            assert Late.began.wait(60)
            raise StateMissError("it is not here")
        return begin(held, *args)

    def take(executor: ResidentExecutor, body: Any) -> None:
        take_acks(executor, body)
        if executor._open is not None and executor._open.has_failed:
            Late.missed.set()

    monkeypatch.setattr(EpochSubtask, "begin", begin_or_miss)
    monkeypatch.setattr(ResidentExecutor, "_take_acks", take)
    env = environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(attempts, 0))
    sink: CollectingSink[str] = CollectingSink()
    env.from_collection(WORDS).rebalance().map(late).sink_to(sink)
    client = env.execute_async("late")
    if attempts:
        client.get_job_execution_result().result(60)
        assert sorted(sink.values()) == sorted(WORDS)
    else:
        with pytest.raises(JobExecutionError, match="the only time"):
            client.get_job_execution_result().result(60)
    assert Late.failures == 1
    assert client.progress().restarts == attempts


def test_a_savepoint_of_a_running_job_and_a_stop_with_one(tmp_path: Path) -> None:
    env, epochs = environment(), Epochs()
    env.launcher.listeners.append(epochs)
    endless(env).sink_to(CollectingSink())
    client = env.execute_async("endless")
    epochs.wait(2)
    first = client.trigger_savepoint(str(tmp_path / "first")).result()
    epochs.wait()
    last = client.stop_with_savepoint(False, str(tmp_path / "last")).result()
    before, after = counts_in(first), counts_in(last)
    assert all(count > 1 for count in before.values())
    assert all(after[key] >= count for key, count in before.items())


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("is_resident", [True, False])
def test_a_savepoint_starts_on_the_other_executor(
    is_resident: bool, parallelism: int, tmp_path: Path
) -> None:
    """Also at another parallelism."""
    resident = JobLauncher.current()
    epochwise = JobLauncher(executor=lambda *_: LocalExecutor())
    first, second = (resident, epochwise) if is_resident else (epochwise, resident)
    JobLauncher.install(first)
    env, epochs = environment(), Epochs()
    env.launcher.listeners.append(epochs)
    endless(env).sink_to(CollectingSink())
    client = env.execute_async("endless")
    epochs.wait(10)
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    JobLauncher.install(second)
    counts = counts_in(path, parallelism)
    assert all(count > 1 for count in counts.values())


def rare(env: StreamExecutionEnvironment) -> DataStream[int]:
    """Numbers that are so rare that the job is idle."""
    source = DataGeneratorSource(
        lambda i: i, rate_limiter_strategy=RateLimiterStrategy.per_second(0.001), splits=1
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "rare")


def test_an_idle_job_is_cancelled() -> None:
    env = environment()
    rare(env).sink_to(CollectingSink())
    client = env.execute_async("idle")
    while client.get_job_status().result() is not JobStatus.RUNNING:
        pass
    client.cancel().result()
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()


class NoSlots(ThreadStarter):
    """Waits for slots that nobody gives back."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = Event()
        self.has_waited_in_vain = False

    def start(
        self,
        address: str,
        token: bytes,
        generation: int,
        tasks: int,
        may_wait: WhileWanted = always,
    ) -> ThreadTasks:
        until = time.monotonic() + 60
        while may_wait() and time.monotonic() < until:
            self.waits.set()
            time.sleep(0.01)
        self.has_waited_in_vain = may_wait()
        raise JobExecutionError("too few slots")


def test_a_job_that_waits_for_slots_is_cancelled() -> None:
    starter = NoSlots()
    executor = lambda *_: ResidentExecutor(starter, 2, ResidentSettings())  # noqa: E731
    JobLauncher.install(JobLauncher(executor=executor))
    env = environment()
    rare(env).sink_to(CollectingSink())
    client = env.execute_async("waits")
    assert starter.waits.wait(30)
    client.cancel().result()
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()
    assert not starter.has_waited_in_vain


def test_a_job_is_rescaled() -> None:
    env, epochs = environment(), Epochs()
    env.launcher.listeners.append(epochs)
    sink: CollectingSink[Any] = CollectingSink()
    endless(env).sink_to(sink)
    client = env.execute_async("rescaled")
    epochs.wait(2)
    client.rescale(1).result()
    epochs.wait(2)
    client.cancel().result()


def test_an_idle_job_makes_each_of_several_savepoints(tmp_path: Path) -> None:
    """The end of one savepoint ends the open epoch, so that the next one begins."""
    env = environment()
    rare(env).sink_to(CollectingSink())
    client = env.execute_async("idle")
    asked = [client.trigger_savepoint(str(tmp_path / str(n))) for n in range(4)]
    assert len({savepoint.result(timeout=30) for savepoint in asked}) == 4
    client.cancel().result()


def test_a_source_that_always_has_records_ends_its_epochs() -> None:
    env, epochs = environment(**{"execution.checkpointing.interval": "1 h"}), Epochs()
    env.launcher.listeners.append(epochs)
    numbers = env.from_source(
        DataGeneratorSource(lambda i: i, splits=2), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.filter(lambda number: False).print()  # all in one stage
    client = env.execute_async("endless")
    epochs.wait(2)
    client.cancel().result()


def test_a_request_that_comes_while_the_next_epoch_is_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is served when that epoch ends, not with the epoch before, which did not prepare it."""
    env, epochs = environment(), Epochs()
    env.launcher.listeners.append(epochs)
    planned, plans = JobManager._next_plan, 0
    answers: list[CompletableFuture[Any]] = []

    def plan(manager: JobManager) -> EpochPlan:
        nonlocal plans
        plans += 1
        if plans == 2:  # of the epoch that begins while the first one is completed
            answers.append(manager.bus.submit(RescaleRequest(1)))
        return planned(manager)

    served, begun = JobManager._rescale, []

    def rescale(manager: JobManager, request: RescaleRequest, acks: list[Ack]) -> None:
        begun.append(manager._begun)
        served(manager, request, acks)

    monkeypatch.setattr(JobManager, "_next_plan", plan)
    monkeypatch.setattr(JobManager, "_rescale", rescale)
    endless(env).sink_to(CollectingSink())
    client = env.execute_async("rescaled")
    epochs.wait(2)
    answers[0].result(timeout=30)
    assert begun == [None]  # no epoch of the former graph is open
    epochs.wait(2)
    client.cancel().result()


def test_a_request_behind_one_that_is_refused_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come in one epoch, and the refused one needs no epoch of its own."""
    env, epochs = environment(), Epochs()
    env.launcher.listeners.append(epochs)
    note, checkpoint = JobManager._note_barrier, CheckpointRequest()

    def asking(manager: JobManager, *arguments: Any) -> bool:
        if manager._epoch == 1:
            manager.bus.submit(MessageRequest("nobody", b""))
            manager.bus.submit(checkpoint)
        return note(manager, *arguments)

    monkeypatch.setattr(JobManager, "_note_barrier", asking)
    endless(env).sink_to(CollectingSink())
    client = env.execute_async("asked twice")
    checkpoint.done.result(timeout=30)
    client.cancel().result()


class SizeWriter(SinkWriter[int]):
    """Notes how many records come together."""

    def __init__(self, path: str) -> None:
        self._path = path

    def write(self, batch: Batch) -> None:
        with open(self._path, "a") as file:
            print(len(batch), file=file)

    def flush(self, end_of_input: bool) -> None:
        """Do nothing: everything is written at once."""


class SizeSink(Sink[int]):
    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def create_writer(self, context: WriterContext, state: Any) -> SizeWriter:
        return SizeWriter(f"{self._path}-{context.subtask_index}")


def batch_sizes(directory: Path, **settings: str) -> list[int]:
    """Sizes of the batches in which 200 records, of which 500 come in a second, reach a sink."""
    configured = replace(resident_settings(Configuration(settings)), barrier_interval=200)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, configured)))
    env = environment(**settings)
    source = DataGeneratorSource(lambda i: i, 200, RateLimiterStrategy.per_second(500), splits=1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.rebalance().sink_to(SizeSink(directory / "sizes"))
    env.execute()
    return [int(line) for path in directory.iterdir() for line in path.read_text().split()]


def test_without_a_buffer_timeout_buffers_wait_for_the_barrier(tmp_path: Path) -> None:
    sizes = batch_sizes(tmp_path, **{"execution.buffer-timeout.enabled": "false"})
    assert sum(sizes) == 200
    assert max(sizes) > 10


def test_with_a_buffer_timeout_of_0_each_record_comes_alone(tmp_path: Path) -> None:
    assert batch_sizes(tmp_path, **{"execution.buffer-timeout": "0 ms"}) == [1] * 200


def test_the_own_name_of_the_buffer_timeout_is_flinks_option() -> None:
    for key in ("millrace.resident.buffer-timeout", "execution.buffer-timeout"):
        assert resident_settings(Configuration({key: "20 ms"})).buffer_timeout == 0.02
    assert resident_settings(Configuration()).buffer_timeout == 0.005
