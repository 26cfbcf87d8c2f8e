"""Several jobs whose workers suffer, one after the other on one local Spark; prints what came of
each as JSON. Every worker dies with one of its segments, whatever job it is for."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fault_pipeline as pipeline
from fault_functions import KillsItsProcess, Raises

from millrace.common.config.restart_strategy import RestartStrategies
from millrace.common.errors import MillraceError
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher

COUNT = 600
SPLITS = 3
NO_SEGMENTS = 1 << 20
PAUSE_MS = 5
"""Milliseconds between two reads on resident tasks, so that the jobs have many epochs, too."""


def run(
    directory: Path,
    executor: str,
    between: Callable[[pipeline.Value], pipeline.Value] = pipeline.unchanged,
    attempts: int = 0,
    inline_limit: int = NO_SEGMENTS,
) -> dict[str, Any]:
    """Run the job, or go on with it; what came of it."""
    JobLauncher.install(JobLauncher(resume=True))
    settings = pipeline.small_epochs(
        directory / "checkpoints", records=60, inline_limit=inline_limit
    )
    settings.set_string("millrace.executor", executor)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(attempts, 1))
    pause_ms = PAUSE_MS if executor == "resident" else 0
    pipeline.build(env, str(directory / "out"), COUNT, SPLITS, between, pause_ms)
    client = env.build_client(pipeline.JOB_NAME)
    client.run()
    try:
        client.result()
        error = None
    except MillraceError as failure:
        error = f"{type(failure).__name__}: {failure}"
    progress = client.progress()
    return {
        "error": error,
        "restarts": progress.restarts,
        "epochs": progress.epochs,
        "cached": dict(progress.cached),
    }


def prepared(root: Path, name: str) -> Path:
    (root / name / "tickets").mkdir(parents=True)
    return root / name


def planned(root: Path, executor: str) -> dict[str, list[dict[str, Any]]]:
    """The jobs of `make test`."""
    outcomes = {}
    place = prepared(root, "worker killed")
    killer = KillsItsProcess(str(place / "tickets"), (40, 333, 560), 2)
    outcomes["worker killed"] = [run(place, executor, killer)]
    place = prepared(root, "segments")
    outcomes["segments"] = [run(place, executor, inline_limit=300)]
    place = prepared(root, "enough attempts")
    raises = Raises(str(place / "tickets"), 500, 3)
    outcomes["enough attempts"] = [run(place, executor, raises, attempts=3)]
    place = prepared(root, "too few attempts")
    raises = Raises(str(place / "tickets"), 500, 3)
    outcomes["too few attempts"] = [run(place, executor, raises, attempts=2) for _ in range(2)]
    return outcomes


def at_random(root: Path, executor: str, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Workers killed at random records and with every sixth segment."""
    rng = random.Random(seed)
    place = prepared(root, "at random")
    indexes = rng.sample(range(COUNT), rng.randint(3, 8))
    killer = KillsItsProcess(str(place / "tickets"), indexes, rng.randint(1, 3))
    inline_limit = rng.choice((300, NO_SEGMENTS))
    return {"at random": [run(place, executor, killer, inline_limit=inline_limit)]}


def main(root: Path, executor: str, seed: str | None = None) -> None:
    outcomes = planned(root, executor) if seed is None else at_random(root, executor, int(seed))
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
