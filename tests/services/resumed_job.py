"""How the jobs run that tests kill: they resume what they find."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing import run_local

SMALL_EPOCHS = {
    "millrace.epoch.initial-records-per-split": "40",
    "millrace.epoch.max-records-per-split": "40",
}


def run_resumed(
    name: str,
    build: Callable[[StreamExecutionEnvironment], object],
    settings: Mapping[str, str],
    where: str = "local",
    parallelism: int = 2,
    **local: Any,
) -> None:
    """Run a job until its end.

    Args:
        where: "local", in this process, or "spark".
        local: of `run_local`.
    """
    logging.basicConfig(level=logging.INFO)
    configuration = Configuration(dict(settings))
    if where == "local":
        context: Any = run_local(resume=True, **local)
    else:
        configuration.set_string("spark.master", "local[2,4]")
        JobLauncher.install(JobLauncher(resume=True))
        context = nullcontext()
    with context:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        build(env)
        env.execute(name)
