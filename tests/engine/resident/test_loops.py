"""Loops on resident tasks: records go back at once, and each epoch contains what is under way."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from forked_tasks import ForkingStarter

from millrace.common import Configuration, Time
from millrace.common.restart_strategy import RestartStrategies
from millrace.datastream import (
    AsyncDataStream,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from millrace.datastream.job_launcher import JobLauncher
from millrace.datastream.state import ValueStateDescriptor
from millrace.engine.job_details import JobDetails
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.operators import iteration
from millrace.runtime.operators.feedback_queue import FeedbackQueue
from millrace.testing import CollectingSink, LocalExecutor
from millrace.testing.resident_tasks import local_resident_executor

Env = StreamExecutionEnvironment
Token = tuple[int, int, int]
"""(Name, rounds left, rounds gone)."""
DONE = OutputTag("done")


def use(executor: str, barrier_interval: int = 20, buffer_timeout: float | None = 0.005) -> None:
    resident = ResidentSettings(barrier_interval=barrier_interval, buffer_timeout=buffer_timeout)
    made: dict[str, Callable[[], Any]] = {
        "resident": lambda: local_resident_executor(2, resident),
        "epochs": LocalExecutor,
    }
    JobLauncher.install(JobLauncher(executor=lambda *_: made[executor]()))


@pytest.fixture(autouse=True)
def launcher() -> Iterator[None]:
    before = JobLauncher.current()
    use("resident")
    yield
    JobLauncher.install(before)


def environment(parallelism: int = 2, **options: str) -> Env:
    config = Configuration()
    config.set_string("execution.runtime-mode", "STREAMING")
    for key, value in options.items():
        config.set_string(key, value)
    return Env.get_execution_environment(config).set_parallelism(parallelism)


class Round(KeyedProcessFunction):
    """One round of a token. The number of rounds is in state, too."""

    def __init__(self, step: int = 1) -> None:
        self.step = step

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Token, ctx: Any) -> Iterator[Any]:
        name, left, gone = value
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        if left > 0:
            yield name, left - self.step, gone + 1
        else:
            yield DONE, (name, gone + 1, seen)


class RoundUntilFree(Round):
    """One round of a token that circles until a file exists."""

    def __init__(self, free: Path) -> None:
        super().__init__(step=0)
        self.free = str(free)

    def process_element(self, value: Token, ctx: Any) -> Iterator[Any]:
        name, _, gone = value
        yield from super().process_element((name, 1 - os.path.exists(self.free), gone), ctx)


def tokens_round(
    tokens: DataStream[Any], step: int = 1, function: Round | None = None
) -> DataStream[Any]:
    loop = tokens.rebalance().iterate().uid("loop")
    gone = loop.key_by(lambda token: token[0]).process(function or Round(step)).uid("round")
    loop.close_with(gone)
    return gone.get_side_output(DONE)


# -- against a model ---------------------------------------------------------------------------


def keyed(env: Env, counts: list[int]) -> DataStream[Any]:
    stream = env.from_collection([(name, left, 0) for name, left in enumerate(counts)])
    return tokens_round(stream)


def keyed_model(counts: list[int]) -> list[Any]:
    return [(name, left + 1, left + 1) for name, left in enumerate(counts)]


def chained(env: Env, counts: list[int]) -> DataStream[Any]:
    """Source, head and tail are in one chain."""
    loop = env.from_collection(list(enumerate(counts))).iterate()
    less = loop.map(lambda pair: (pair[0], pair[1] - 1))
    loop.close_with(less.filter(lambda pair: pair[1] > 0))
    return less.filter(lambda pair: pair[1] <= 0).map(lambda pair: pair[0])


def chained_model(counts: list[int]) -> list[Any]:
    return list(range(len(counts)))


def nested(env: Env, counts: list[int]) -> DataStream[Any]:
    """The inner loop goes twice round for each round of the outer one."""
    outer = env.from_collection([(n, c, 2, 0) for n, c in enumerate(counts)]).iterate()
    inner = outer.rebalance().iterate()
    less = inner.map(lambda v: (v[0], v[1], v[2] - 1, v[3] + 1))
    inner.close_with(less.filter(lambda v: v[2] > 0))
    out = less.filter(lambda v: v[2] <= 0).map(lambda v: (v[0], v[1] - 1, 2, v[3]))
    outer.close_with(out.filter(lambda v: v[1] > 0).key_by(lambda v: v[0]))
    return out.filter(lambda v: v[1] <= 0).map(lambda v: (v[0], v[3]))


def nested_model(counts: list[int]) -> list[Any]:
    return [(name, 2 * max(1, rounds)) for name, rounds in enumerate(counts)]


def splitting(env: Env, counts: list[int]) -> DataStream[Any]:
    """Every record gives two in the next round."""
    small = env.from_collection([rounds % 6 for rounds in counts])
    loop = small.rebalance().iterate()
    two = loop.rebalance().flat_map(lambda n: [n - 1, n - 1] if n > 0 else [0])
    loop.close_with(two.filter(lambda n: n > 0))
    return two.filter(lambda n: n == 0)


def splitting_model(counts: list[int]) -> list[Any]:
    return [0] * sum(2 ** (rounds % 6) for rounds in counts)


def several(env: Env, counts: list[int]) -> DataStream[Any]:
    """One loop behind the other."""
    first = keyed(env, counts).map(lambda done: done[1])
    loop = first.iterate()
    less = loop.map(lambda n: n - 1)
    loop.close_with(less.filter(lambda n: n > 0).rebalance())
    return less.filter(lambda n: n <= 0)


def several_model(counts: list[int]) -> list[Any]:
    return [0] * len(counts)


async def less_by_one(value: tuple[int, int]) -> list[tuple[int, int]]:
    return [(value[0], value[1] - 1)]


def asking(env: Env, counts: list[int]) -> DataStream[Any]:
    """A loop with asynchronous requests."""
    loop = env.from_collection(list(enumerate(counts))).iterate()
    less = AsyncDataStream.unordered_wait(loop, less_by_one, Time.minutes(1), 3)
    loop.close_with(less.filter(lambda pair: pair[1] > 0).rebalance())
    return less.filter(lambda pair: pair[1] <= 0).map(lambda pair: pair[0])


PROGRAMS = {
    "keyed": (keyed, keyed_model),
    "chained": (chained, chained_model),
    "nested": (nested, nested_model),
    "splitting": (splitting, splitting_model),
    "several": (several, several_model),
    "asking": (asking, chained_model),
}


class Once(MapFunction):
    """Fails once. The count is of the process: the function itself is made anew."""

    calls = count(1)
    fails_at = 0

    def map(self, value: Any) -> Any:
        if next(Once.calls) == Once.fails_at:
            raise ValueError("once")
        return value


@pytest.mark.parametrize("program", PROGRAMS)
@settings(max_examples=5, deadline=None)
@given(
    st.lists(st.integers(0, 40), max_size=12),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 3, 1000]),
    st.integers(1, 60),
)
def test_any_cut_into_epochs_and_a_failure_give_what_the_model_gives(
    program: str, counts: list[int], parallelism: int, interval: int, fails_at: int
) -> None:
    """A function fails at some hop, so that the open epoch is rolled back with what circulates."""
    build, model = PROGRAMS[program]
    use("resident", interval)
    env = environment(parallelism)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    Once.fails_at, Once.calls = fails_at, count(1)
    found = list(build(env, counts).map(Once()).execute_and_collect())
    assert Counter(found) == Counter(model(counts))
    use("epochs")
    assert Counter(build(environment(parallelism), counts).execute_and_collect()) == Counter(found)


class FailsOnce(Round):
    """Fails in the middle of a round. The count is of the process, not of state."""

    rounds = count(1)

    def process_element(self, value: Token, ctx: Any) -> Iterator[Any]:
        if next(FailsOnce.rounds) == 500:
            raise ValueError("once")
        yield from super().process_element(value, ctx)


def test_a_failure_inside_a_loop_loses_and_doubles_nothing() -> None:
    use("resident", 2)
    FailsOnce.rounds = count(1)
    env = environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    loop = env.from_collection([(name, 60, 0) for name in range(40)]).rebalance().iterate()
    gone = loop.key_by(lambda token: token[0]).process(FailsOnce())
    loop.close_with(gone)
    found = list(gone.get_side_output(DONE).execute_and_collect())
    assert sorted(found) == [(name, 61, 61) for name in range(40)]
    assert next(FailsOnce.rounds) > 40 * 61


# -- hops, memory, the end ---------------------------------------------------------------------


@pytest.mark.parametrize("buffer_timeout", [0.005, None])
def test_hops_need_no_epochs(buffer_timeout: float | None) -> None:
    """Nor full buffers, even if nothing else sends one before the barrier."""
    use("resident", 10_000, buffer_timeout)
    env = environment()
    progress: list[JobDetails] = []
    env.launcher.listeners.append(progress.append)
    stream = env.from_collection([(0, 1_000, 0)])
    assert list(tokens_round(stream).execute_and_collect()) == [(0, 1_001, 1_001)]
    # barriers come more and more rarely as long as something is in the loop
    assert progress[-1].epochs < 100


def test_a_loop_without_records_ends() -> None:
    env = environment()
    assert list(tokens_round(env.from_collection([])).execute_and_collect()) == []


def test_a_timer_inside_a_loop_is_waited_for_without_epochs() -> None:
    class Delayed(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.held = runtime_context.get_state(ValueStateDescriptor("held"))

        def process_element(self, value: int, ctx: Any) -> None:
            self.held.update(value)
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 150)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
            yield self.held.value() - 1

    use("resident", 10_000)  # so that a slow machine has no more epochs
    env = environment()
    progress: list[JobDetails] = []
    env.launcher.listeners.append(progress.append)
    loop = env.from_collection([2]).iterate()
    later = loop.key_by(lambda n: 0).process(Delayed())
    loop.close_with(later.filter(lambda n: n > 0))
    assert list(later.filter(lambda n: n <= 0).execute_and_collect()) == [0]
    assert progress[-1].epochs < 30


def test_many_records_under_way_wait_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 records become 2 ** 17, and most of them wait in encoded form."""
    most = 0

    class Measured(FeedbackQueue):
        def put(self, values: list[Any], timestamps: list[int] | None) -> None:
            nonlocal most
            super().put(values, timestamps)
            most = max(most, self._in_memory)

    monkeypatch.setattr(iteration, "FeedbackQueue", partial(Measured, 1000))
    env = environment()
    loop = env.from_collection([13] * 16).rebalance().iterate()
    two = loop.rebalance().flat_map(lambda n: [n - 1, n - 1] if n > 0 else [0])
    loop.close_with(two.filter(lambda n: n > 0))
    zeros = two.filter(lambda n: n == 0).map(lambda n: 1)
    found = sum(zeros.execute_and_collect())
    assert found == 16 * 2**13
    assert 0 < most < 1000 + 2 * 4096


def test_one_record_round_and_round_in_a_chain_does_not_starve_others() -> None:
    """The second record comes through, and checkpoints are made, while the first goes round."""
    use("resident", 5)
    env = environment(1)
    passed = [False]

    def note(value: str) -> str:
        if value == "passes":
            passed[0] = True
        return "stops" if value == "circles" and passed[0] else value

    loop = env.from_collection(["circles", "passes"]).iterate()
    noted = loop.map(note)
    loop.close_with(noted.filter(lambda value: value == "circles"))
    found = list(noted.filter(lambda value: value != "circles").execute_and_collect())
    assert found == ["passes", "stops"]


# -- losses and savepoints ---------------------------------------------------------------------


def test_killed_workers_with_records_in_the_loop(tmp_path: Path) -> None:
    starter, killed = ForkingStarter(), []
    resident = ResidentSettings(barrier_interval=20)
    JobLauncher.install(JobLauncher(executor=lambda *_: ResidentExecutor(starter, 2, resident)))
    directory = {"execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    env = environment(2, **{"execution.checkpointing.interval": "0 ms", **directory})
    free = tmp_path / "free"

    def kill(details: JobDetails) -> None:
        if len(killed) < 2 and details.epochs > 3 * len(killed):
            _, process = starter.running.processes[len(killed) % 2]
            killed.append(process.pid)
            process.kill()
        elif details.epochs > 9:
            free.touch()

    env.launcher.listeners.append(kill)
    stream = env.from_collection([(name, 1, 0) for name in range(200)])
    found = list(tokens_round(stream, function=RoundUntilFree(free)).execute_and_collect())
    assert len(killed) == 2
    assert sorted(name for name, _, _ in found) == list(range(200))
    assert all(rounds == seen for _, rounds, seen in found)


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize(
    ("first", "second"),
    [("resident", "epochs"), ("epochs", "resident"), ("resident", "resident")],
)
def test_a_savepoint_with_records_in_the_loop(
    first: str, second: str, parallelism: int, tmp_path: Path
) -> None:
    """The tokens circle without an end before the savepoint. Each has gone as often round as the
    state of its key knows."""
    use(first)
    tokens = [(name, 50, 0) for name in range(100)]
    env = environment()
    gone = [0]
    env.launcher.listeners.append(lambda details: gone.__setitem__(0, details.epochs))
    tokens_round(env.from_collection(tokens), step=0).sink_to(CollectingSink())
    client = env.execute_async("circling")
    while gone[0] < 5:
        client.get_job_status().result()
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    use(second)
    env = environment(parallelism, **{"execution.state-recovery.path": savepoint})
    found = list(tokens_round(env.from_collection(tokens), step=10).execute_and_collect())
    assert sorted(name for name, _, _ in found) == list(range(100))
    assert all(rounds == seen for _, rounds, seen in found)
    assert max(rounds for _, rounds, _ in found) > 6
