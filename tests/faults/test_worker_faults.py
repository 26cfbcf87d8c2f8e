"""Python workers that die and functions that raise, on local Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import fault_pipeline as pipeline
import pytest
from fault_lives import JOBS, environment
from worker_faults import COUNT, SPLITS

pytestmark = [pytest.mark.fault, pytest.mark.spark]


SEGMENTS = {"epochs": 6, "resident": 20}
"""Segment with which a worker dies, per executor. A resident task writes up to ten in each epoch,
because it runs subtasks of all stages; it has to survive some epochs."""
Outcomes = dict[str, list[dict[str, Any]]]
"""Per job, what came of each of its runs."""


def run_jobs(root: Path, executor: str, *seed: str) -> Outcomes:
    done = subprocess.run(
        [sys.executable, str(JOBS / "worker_faults.py"), str(root), executor, *seed],
        env=environment(MILLRACE_CRASH=f"after-segment:{SEGMENTS[executor]}"),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    outcomes: Outcomes = json.loads(done.stdout)
    return outcomes


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("epochs", marks=pytest.mark.turns(2, together=True)),
        pytest.param("resident", marks=pytest.mark.turns(2, together=True, shift=1)),
    ],
)
def world(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Path, Outcomes]:
    """The directory of all the jobs on one executor, and their outcomes."""
    root = tmp_path_factory.mktemp("workers")
    return root, run_jobs(root, str(request.param))


def tickets(root: Path, name: str) -> int:
    """How many of its planned misfortunes a job had."""
    return len(list((root / name / "tickets").iterdir()))


def test_killed_workers_cost_nothing(world: Any) -> None:
    """Killed in the middle of an epoch, again when Spark retries: no restart, the same result."""
    root, outcomes = world
    [outcome] = outcomes["worker killed"]
    assert outcome["error"] is None
    assert outcome["restarts"] == 0
    assert tickets(root, "worker killed") == 6
    assert outcome["cached"].get("restored", 0) > 0
    pipeline.check_output(root / "worker killed" / "out", COUNT, SPLITS)


def test_a_task_that_dies_after_its_segment(world: Any) -> None:
    """Its segment is not used; the one of the next attempt is."""
    root, outcomes = world
    [outcome] = outcomes["segments"]
    assert outcome["error"] is None
    assert outcome["cached"].get("restored", 0) > 0
    pipeline.check_output(root / "segments" / "out", COUNT, SPLITS)


def test_three_failures_with_three_restarts(world: Any) -> None:
    """Counted as attempts of the strategy: Spark retries none of them."""
    root, outcomes = world
    [outcome] = outcomes["enough attempts"]
    assert outcome["error"] is None
    assert outcome["restarts"] == 3
    assert tickets(root, "enough attempts") == 3
    pipeline.check_output(root / "enough attempts" / "out", COUNT, SPLITS)


def test_three_failures_with_two_restarts(world: Any) -> None:
    """The job fails with the user's error; resumed when the cause is gone, it ends exactly."""
    root, outcomes = world
    failed, resumed = outcomes["too few attempts"]
    assert failed["restarts"] == 2
    assert failed["error"], (tickets(root, "too few attempts"), failed, resumed)
    assert failed["error"].startswith("UserFunctionError: operator 'between' failed for the record")
    assert "ValueError: cannot stand 500" in failed["error"]
    assert "(500, " in failed["error"]
    assert "py4j" not in failed["error"]
    assert tickets(root, "too few attempts") == 3
    assert resumed["error"] is None
    assert resumed["restarts"] == 0
    pipeline.check_output(root / "too few attempts" / "out", COUNT, SPLITS)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(20))
def test_workers_killed_at_random(seed: int, executor: str, tmp_path: Path) -> None:
    [outcome] = run_jobs(tmp_path, executor, str(seed))["at random"]
    assert outcome["error"] is None
    assert outcome["restarts"] == 0
    assert tickets(tmp_path, "at random") > 0
    pipeline.check_output(tmp_path / "at random" / "out", COUNT, SPLITS)
