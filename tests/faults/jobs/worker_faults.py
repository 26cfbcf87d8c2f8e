"""Several jobs whose workers suffer, one after the other on one local Spark; prints what came of
each as JSON. Every worker dies with its sixth segment, whatever job it is for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fault_pipeline as pipeline
from fault_functions import KillsItsProcess, Raises

from millrace.common.errors import MillraceError
from millrace.common.restart_strategy import RestartStrategies
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher

COUNT = 900
SPLITS = 3
NO_SEGMENTS = 1 << 20


def run(
    directory: Path,
    between: Callable[[pipeline.Value], pipeline.Value] = pipeline.unchanged,
    attempts: int = 0,
    inline_limit: int = NO_SEGMENTS,
) -> dict[str, Any]:
    """Run the job, or go on with it; what came of it."""
    JobLauncher.install(JobLauncher(resume=True))
    settings = pipeline.small_epochs(
        directory / "checkpoints", records=60, inline_limit=inline_limit
    )
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(attempts, 1))
    pipeline.build(env, str(directory / "out"), COUNT, SPLITS, between)
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
        "cached": progress.cached,
    }


def main(root: Path) -> None:
    def prepared(name: str) -> Path:
        (root / name / "tickets").mkdir(parents=True)
        return root / name

    outcomes = {}
    place = prepared("worker killed")
    killer = KillsItsProcess(str(place / "tickets"), (40, 433, 700), 2)
    outcomes["worker killed"] = [run(place, killer)]
    place = prepared("segments")
    outcomes["segments"] = [run(place, inline_limit=300)]
    place = prepared("enough attempts")
    raises = Raises(str(place / "tickets"), 500, 3)
    outcomes["enough attempts"] = [run(place, raises, attempts=3)]
    place = prepared("too few attempts")
    raises = Raises(str(place / "tickets"), 500, 3)
    outcomes["too few attempts"] = [run(place, raises, attempts=2), run(place, raises, attempts=2)]
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
