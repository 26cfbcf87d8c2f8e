"""kill -9 of the driver at every step of an epoch and its commit; resumed until it has finished."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import fault_pipeline as pipeline
import pytest
from fault_lives import Lives

from millrace.state.checkpoint.snapshot import open_snapshot

pytestmark = pytest.mark.fault

CRASH_POINTS = (
    "after-segment",
    "after-acks",
    "after-deltas",
    "during-metadata",
    "after-metadata",
    "during-retention",
    "collect-metadata",
    "collect-file",
    "before-sink-commit",
    "during-sink-commit",
)
Drivers = Callable[..., Lives]


def check(lives: Lives, count: int = 400, splits: int = 3) -> None:
    """The result is exact, and no reader ever saw what was taken back later."""
    assert [life.status for life in lives.drivers[:-1]] == [-signal.SIGKILL] * (
        len(lives.drivers) - 1
    ), lives.errors
    assert lives.drivers[-1].status == 0, lives.errors
    pipeline.check_output(lives.directory / "out", count, splits)
    for name in pipeline.SINKS:
        views = [rows_of(life.seen[name]) for life in lives.drivers]
        for earlier, later in pairwise(views):
            assert earlier <= later


def rows_of(seen: list[Any]) -> Counter[str]:
    return Counter(map(repr, seen))


@pytest.mark.turns(5)
@pytest.mark.parametrize("point", CRASH_POINTS)
def test_killed_at_the_first_passes(point: str, live_and_die: Drivers) -> None:
    """Killed at the first, second and third pass of one place, in this order."""
    check(live_and_die([f"{point}:1", f"{point}:2", f"{point}:3", ""]))


@pytest.mark.turns(5)
@pytest.mark.parametrize("point", ["after-acks", "during-metadata", "before-sink-commit"])
def test_killed_on_resident_tasks(point: str, live_and_die: Drivers) -> None:
    """The next epoch has begun when the driver dies amid a checkpoint."""
    check(live_and_die([f"{point}:1", f"{point}:2", ""], executor="resident"))


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(20))
def test_killed_anywhere_on_resident_tasks(seed: int, live_and_die: Drivers) -> None:
    rng = random.Random(seed)
    traps = [f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 3)}" for _ in range(4)]
    lives = live_and_die([*traps, ""], executor="resident", count=2_000)
    assert lives.drivers[-1].status == 0, lives.errors
    pipeline.check_output(lives.directory / "out", 2_000, 3)


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", range(3))
def test_killed_anywhere(seed: int, live_and_die: Drivers) -> None:
    """A row of drivers killed at random places, with epochs that Spark lost in between."""
    rng = random.Random(seed)
    traps = [f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 4)}" for _ in range(5)]
    check(live_and_die([*traps, ""], seed=seed, rate=0.1, count=600), count=600)


RESCALING = ("rescale-begins", "rescale-ends", "during-savepoint")


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.torture) for n in range(2, 12))]
)
def test_killed_while_it_is_operated(seed: int, live_and_die: Drivers, tmp_path: Path) -> None:
    """Rescaled and copied to savepoints all the time, killed in the middle of that; what was
    completed as a savepoint can be opened."""
    rng = random.Random(seed)
    points = (*RESCALING, *RESCALING, *CRASH_POINTS)
    traps = [f"{rng.choice(points)}:1" for _ in range(5)]
    rescale = {str(epoch): rng.randint(1, 5) for epoch in rng.sample(range(1, 12), 3)}
    lives = live_and_die([*traps, ""], seed=seed, count=3_000, rescale=rescale, savepoint=5)
    check(lives, count=3_000)
    for path in (tmp_path / "savepoints").glob("savepoint-*/_metadata"):
        assert open_snapshot(path).is_savepoint


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(3, 63))
def test_killed_anywhere_at_length(seed: int, live_and_die: Drivers) -> None:
    rng = random.Random(seed)
    traps = [f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 6)}" for _ in range(8)]
    check(live_and_die([*traps, ""], seed=seed, rate=0.2, count=1500), count=1500)
