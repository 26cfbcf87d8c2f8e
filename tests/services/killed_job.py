"""A job in processes of its own, one driver after the other, each killed somewhere."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import psutil
import pytest
from resumed_job import EXECUTOR

import millrace

SERVICES = Path(__file__).parent


class KilledJob(ABC):
    """Drivers of a script that resumes what it finds.

    Args:
        directory: for the job and for the log of its drivers.
    """

    script: ClassVar[Path]
    """What is beside it can be imported."""
    patience_s: float = 180.0
    poll_s: ClassVar[float] = 0.02
    """How often results are counted."""
    executor: str = "epochs"
    """Executor: "epochs", or "resident"."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @abstractmethod
    def arguments(self) -> Sequence[str]:
        """Arguments of the script."""

    def results(self) -> int:
        """How many there are, for `wait_for`."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Environment variables of the script, besides the test's own."""
        return {}

    def packages(self) -> Sequence[str]:
        """Directories with packages of the script, which go before the test's own."""
        return ()

    def start(self, trap: str = "") -> subprocess.Popen[bytes]:
        """A driver that dies at its trap; "" lets it live."""
        paths = [
            *self.packages(),
            str(Path(millrace.__file__).parents[1]),
            str(SERVICES),
            str(self.script.parent),
        ]
        kept = {key: v for key, v in os.environ.items() if not key.startswith("MILLRACE_")}
        more = {
            "PYTHONPATH": os.pathsep.join(paths),
            "MILLRACE_CRASH": trap,
            EXECUTOR: self.executor,
        }
        with (self.directory / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, str(self.script), *self.arguments()],
                env={**kept, **more, **self.environment()},
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def run(self, trap: str = "") -> int:
        """The exit status of a driver. One that takes too long does not go on after its test."""
        with self.start(trap) as driver:
            try:
                return driver.wait(self.patience_s)
            finally:
                driver.kill()

    def wait_for(self, driver: subprocess.Popen[bytes], results: int) -> None:
        """Until so many results are there, or the driver has ended."""
        until = time.monotonic() + self.patience_s
        while driver.poll() is None and self.results() < results:
            assert time.monotonic() < until, self.log
            time.sleep(self.poll_s)

    @property
    def log(self) -> str:
        """The end of what the drivers said."""
        return (self.directory / "log").read_text()[-8_000:]


executors = pytest.mark.parametrize("executor", ["epochs", "resident"])
"""Runs a test on both executors."""
executors_at_length = pytest.mark.parametrize(
    "executor", ["epochs", pytest.param("resident", marks=pytest.mark.torture)]
)
"""The same, but on resident tasks only in ``make torture``."""


def kill_a_worker(driver: subprocess.Popen[bytes], rng: random.Random) -> None:
    """kill -9 of a Python worker of Spark's."""
    workers, children = [], list[psutil.Process]()
    with suppress(psutil.Error):  # the driver may have died meanwhile
        children = psutil.Process(driver.pid).children(recursive=True)
    for process in children:
        with suppress(psutil.Error):  # it has ended meanwhile
            # not the JVM, which has no children either while it starts
            is_of_daemon = "pyspark.worker" in " ".join(process.cmdline())
            if is_of_daemon and not process.children():
                workers.append(process)
    if workers:
        with suppress(psutil.Error):
            rng.choice(workers).kill()
