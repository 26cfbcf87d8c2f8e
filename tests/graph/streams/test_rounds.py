"""Rounds of steps with bundles that arrive in any order, changes that come at any time, and
subtasks that lose their memory: when nothing is under way, results are those of NetworkX."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from edge_histories import History, distances, folded, ranks

from millrace.common.types.batch import ColumnBatch
from millrace.common.types.row import Row
from millrace.graph.streams.distances_operator import DistancesOperator
from millrace.graph.streams.edge_columns import CHANGE, SOURCE, TARGET, VALUE
from millrace.graph.streams.lockstep_operator import BUNDLES, _Bundle
from millrace.graph.streams.ranks_operator import RanksOperator
from millrace.graph.streams.solver_operator import SolverOperator
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator import OperatorContext
from millrace.state.column_key_groups import owners_of_columns
from millrace.state.store import SubtaskState

MAX_PARALLELISM = 128
MOST_STEPS = 1_000


class Collected:
    """Output that keeps what is emitted."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def emit(self, batch: Any) -> None:
        self.values += batch.to_rows().values

    def take(self) -> list[Any]:
        taken, self.values = self.values, []
        return taken


class Subtasks:
    """All subtasks of an operator, and bundles on their way between them."""

    def __init__(self, dice: random.Random, method: str, count: int) -> None:
        self._dice = dice
        self._results, self._sent = Collected(), Collected()
        self._flying: dict[tuple[int, int], list[Any]] = {}
        """Bundles by sender and target, whose order they keep."""
        self.operators = [self._made(method, index, count) for index in range(count)]

    def _made(self, method: str, index: int, count: int) -> SolverOperator:
        operator: SolverOperator = RanksOperator(pa.int64(), 0.85, 1e-5, "loop")
        if method == "distances":
            operator = DistancesOperator(pa.int64(), 0, "loop")
        state = SubtaskState()
        context = OperatorContext("uid", "name", index, count, MAX_PARALLELISM, state, lambda: 0)
        outputs: Any = {BUNDLES: self._sent}
        operator.setup(context, self._results, outputs)  # type: ignore[arg-type]
        operator.open()
        operator.restore()
        operator.begin_epoch(EpochContext(0, 0, feeds_at_once=True))
        return operator

    def push(self, changes: list[Row]) -> None:
        for change in changes:
            source, target, value = change
            sign = 1 if change.get_row_kind().name == "INSERT" else -1
            row = {SOURCE: source, TARGET: target, VALUE: value or 0.0, CHANGE: sign}
            count = len(self.operators)
            [owner] = owners_of_columns(pa.array([source]), count, MAX_PARALLELISM)
            self.operators[owner].process_columns(0, ColumnBatch(pa.RecordBatch.from_pylist([row])))

    def step(self, share: float) -> None:
        """Let some subtasks begin a round, and some bundles arrive."""
        dice = self._dice
        for operator in self.operators:
            if operator.has_changes() and dice.random() < share:
                operator.give_results()
        for bundle in self._sent.take():
            self._flying.setdefault((bundle[1], bundle[0]), []).append(bundle)
        for pair, bundles in dice.sample(sorted(self._flying.items()), len(self._flying)):
            arrived = len(bundles) if share == 1 else dice.randrange(len(bundles) + 1)
            self._flying[pair] = bundles[arrived:]
            if arrived:
                self.operators[pair[1]].feed(bundles[:arrived], None)

    @property
    def are_quiet(self) -> bool:
        is_flying = any(self._flying.values()) or bool(self._sent.values)
        return not (is_flying or any(operator.has_changes() for operator in self.operators))

    def lose_memory(self) -> None:
        """End an epoch, after which some subtasks have nothing but their state."""
        for operator in self.operators:
            operator.end_epoch(False)
            if self._dice.random() < 0.5:
                operator.restore()

    def results(self) -> list[Any]:
        return self._results.take()


@pytest.mark.parametrize("method", ["distances", "ranks"])
@pytest.mark.parametrize(
    "seeds", [range(8), pytest.param(range(8, 400), marks=pytest.mark.torture)]
)
def test_results_when_nothing_is_under_way(method: str, seeds: range) -> None:
    for seed in seeds:
        dice = random.Random(f"{method} {seed}")
        history = History(dice, list(range(dice.choice([3, 6, 15, 40]))), method == "distances")
        subtasks, rows = Subtasks(dice, method, dice.randrange(2, 6)), list[Any]()
        for _ in range(6):
            subtasks.push(history.changes(dice.choice([0, 1, 4, 20])))
            for _ in range(dice.randrange(6)):
                subtasks.step(0.5)
            if dice.random() < 0.5:
                subtasks.lose_memory()
        for _ in range(MOST_STEPS):
            if subtasks.are_quiet:
                break
            subtasks.step(1)
        assert subtasks.are_quiet
        rows += subtasks.results()
        check(method, rows, history)


@pytest.mark.parametrize("method", ["distances", "ranks"])
def test_a_subtask_goes_on_with_bundles_of_a_round_that_it_has_not_begun(method: str) -> None:
    """Whatever the order in which they came, there is no progress in a round then."""
    subtasks = Subtasks(random.Random(1), method, 2)
    one = subtasks.operators[0]
    early = _Bundle(0, 1, 1, 1, 1, 0, 0, False, None)
    one._keep(early)
    one.end_epoch(False)
    one.restore()
    assert one._bundles == {(1, 1): {1: [early]}}
    assert not one._is_open


def check(method: str, rows: list[Any], history: History) -> None:
    found = folded(rows)
    if method == "distances":
        assert found == distances(history.edges, 0)
        return
    shares: dict[Any, float] = dict(found)  # type: ignore[arg-type]
    total = sum(shares.values())
    shares = {vertex: rank / total for vertex, rank in shares.items()}
    assert shares == pytest.approx(ranks(history.graph()), abs=2e-3)
