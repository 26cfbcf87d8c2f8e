"""Distances and ranks that several subtasks compute together are those of NetworkX: at every
barrier of resident tasks, and with a Spark job per epoch as soon as a round is over."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from edge_histories import History, distances, folded, ranks

from millrace.common import WatermarkStrategy
from millrace.common.types.row import Row
from millrace.common.types.typeinfo import Types
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.engine.job_details import JobDetails
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.graph.streams import GraphStream
from millrace.testing import CollectingSink, Faults, MiniJob, run_local
from millrace.testing.allowance import Allowance, AllowedNumbers
from millrace.testing.pushed_source import PushedSource
from millrace.testing.resident_tasks import local_resident_executor

sys.path.insert(0, str(Path(__file__).parents[2] / "engine" / "resident"))

from forked_tasks import ForkingStarter

METHODS = ["distances", "ranks"]
TEXTS = [f"v{number}" for number in range(12)]
MOST_EPOCHS = 500
"""Epochs in which every round of these graphs is over."""
SETTINGS = ResidentSettings(barrier_interval=5)
FULL_BUFFERS = ResidentSettings(barrier_interval=5, buffer_timeout=None)
"""Settings with which records wait until a buffer is full, or the next barrier comes."""


def history_of(method: str, dice: random.Random, vertices: list[Any]) -> History:
    return History(dice, vertices, weights=method == "distances")


def results_of(method: str, history: History, edges: DataStream[Any]) -> DataStream[Any]:
    start = history.vertices[0]
    kind = Types.STRING() if isinstance(start, str) else Types.LONG()
    if method == "distances":
        return GraphStream(edges, kind, Types.DOUBLE()).shortest_paths(start)
    return GraphStream(edges, kind).page_rank(tolerance=1e-4)


def is_right(method: str, rows: list[Any], history: History) -> bool:
    if method == "distances":
        return folded(rows) == distances(history.edges, history.vertices[0])
    found: dict[Any, float] = dict(folded(rows))  # type: ignore[arg-type]
    total = sum(found.values())
    shares = {vertex: rank / total for vertex, rank in found.items()}
    return bool(shares == pytest.approx(ranks(history.graph()), abs=2e-3))


def settle(
    method: str, job: MiniJob, results: CollectingSink[Any], rows: list[Any], history: History
) -> None:
    """Run epochs until the results are right, and some more, in which they must stay so."""
    for _ in range(MOST_EPOCHS):
        job.process()
        rows += results.take()
        if is_right(method, rows, history):
            break
    job.process(10)
    rows += results.take()
    assert is_right(method, rows, history)


CASES = [("distances", seed) for seed in range(4)] + [("ranks", seed) for seed in range(2)]


@pytest.mark.turns(7)
@pytest.mark.parametrize(("method", "seed"), CASES)
def test_changes_come_in_the_middle_of_rounds(method: str, seed: int) -> None:
    dice = random.Random(f"{method} {seed}")
    vertices: list[Any] = TEXTS if seed == 0 else list(range(dice.choice([5, 12, 30])))
    history = history_of(method, dice, vertices)
    rows: list[Any] = []
    with MiniJob(2 + seed % 2, workers=dice.choice([1, 2]), seed=seed) as job:
        source = job.source()
        results = job.collect(results_of(method, history, source.stream))
        for number in range(8):
            source.push(*history.changes(dice.choice([1, 5, 40])))
            job.process(dice.randrange(1, 6))
            rows += results.take()
            if number % 4 == 3:
                settle(method, job, results, rows, history)


@pytest.mark.turns(7)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_job_goes_on_at_another_parallelism(method: str, before: int, tmp_path: Path) -> None:
    """Also in the middle of a round."""
    dice = random.Random(f"{method} {before}")
    history = history_of(method, dice, list(range(15)))
    pushed: list[Any] = []
    rows: list[Any] = []
    widths = (before, before % 3 + 1, before)
    for number, parallelism in enumerate(widths):
        resumes, directory = bool(pushed), str(tmp_path)
        with MiniJob(parallelism, seed=before, checkpoint_dir=directory, resume=resumes) as job:
            source = job.source()
            results = job.collect(results_of(method, history, source.stream))
            source.push(*pushed)
            for _ in range(3):
                more = history.changes(20)
                pushed += more
                source.push(*more)
                job.process(dice.randrange(1, 4))
                rows += results.take()
            if number == len(widths) - 1:
                settle(method, job, results, rows, history)


@pytest.mark.parametrize("method", METHODS)
def test_lost_workers_and_epochs_change_nothing(method: str) -> None:
    dice = random.Random(method)
    history = history_of(method, dice, list(range(12)))
    changes = history.changes(90)
    with run_local(3, 11, faults=Faults(0.1, 0.1, 0.1), epoch_records=30):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
        edges = env.from_collection(changes).set_parallelism(1)
        rows = list(results_of(method, history, edges).execute_and_collect())
    assert is_right(method, rows, history)


class Checked:
    """Compares the results at each barrier, and pushes further changes."""

    def __init__(self, method: str, history: History, rounds: int) -> None:
        self._method, self._history, self._left = method, history, rounds
        self._changes: list[Row] = []
        self._known = History(history.dice, history.vertices, history.weights)
        self._rows: list[Any] = []
        self.checks = 0

    def start(self, env: StreamExecutionEnvironment) -> None:
        self._source: PushedSource[Any] = PushedSource(env, "changes")
        self._read: CollectingSink[Any] = CollectingSink()
        self._results: CollectingSink[Any] = CollectingSink()
        self._source.stream.sink_to(self._read)
        results_of(self._method, self._history, self._source.stream).sink_to(self._results)
        self._push()

    def _push(self) -> None:
        count = self._history.dice.choice([1, 5, 40])
        changes = self._history.changes(count)
        self._changes += changes
        self._source.push(*changes)

    def __call__(self, details: JobDetails) -> None:
        read = len(self._read.take())
        for change in self._changes[:read]:
            self._apply(change)
        del self._changes[:read]
        self._rows += self._results.take()
        assert is_right(self._method, self._rows, self._known)
        self.checks += read > 0
        self._left -= 1
        if self._left > 0:
            self._push()
        elif not self._left:
            self._source.end()

    def _apply(self, change: Row) -> None:
        edge = tuple(change) if self._known.weights else tuple(change)[:2]
        if change.get_row_kind().name == "INSERT":
            self._known.edges.append(edge)
        elif edge in self._known.edges:
            self._known.edges.remove(edge)


@pytest.mark.turns(7)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_results_at_every_barrier_of_resident_tasks(method: str, parallelism: int) -> None:
    dice = random.Random(f"{method} {parallelism}")
    vertices: list[Any] = TEXTS if parallelism == 3 else list(range(30))
    checked = Checked(method, history_of(method, dice, vertices), 15)
    settings = FULL_BUFFERS if parallelism == 2 else SETTINGS
    with run_local(executor=lambda: local_resident_executor(2, settings)) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(0).set_parallelism(parallelism)
        cluster.listeners.append(checked)
        checked.start(env)
        env.execute()
    assert checked.checks >= 5


@pytest.mark.turns(7)
@pytest.mark.parametrize("method", ["distances", pytest.param("ranks", marks=pytest.mark.torture)])
def test_killed_tasks_change_nothing(method: str, tmp_path: Path) -> None:
    history = history_of(method, random.Random(method), list(range(30)))
    changes = history.changes(300)
    allowance = Allowance(tmp_path / "allowed", share=20)
    starter, killed = ForkingStarter(), list[int]()

    def kill(details: JobDetails) -> None:
        if details.epochs > 2 + 3 * len(killed) and len(killed) < 2:
            victim = starter.processes()[len(killed) % 2]
            killed.append(victim.pid or 0)
            victim.kill()

    executor: Callable[[], Any] = partial(ResidentExecutor, starter, 2, SETTINGS)
    with run_local(executor=executor, checkpoint_dir=str(tmp_path / "checkpoints")) as cluster:
        all_allowed = allowance.grow_until(lambda: allowance.count == len(changes), 0)
        cluster.listeners += [kill, all_allowed]
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(0).set_parallelism(2)
        numbers = AllowedNumbers(allowance)
        read = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
        edges = read.set_parallelism(1).map(lambda number: changes[number]).set_parallelism(1)
        rows = list(results_of(method, history, edges).execute_and_collect())
    assert len(killed) == 2
    assert is_right(method, rows, history)
