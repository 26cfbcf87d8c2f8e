"""A queue into files: each message once, wherever the driver or the server dies."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from killed_job import KilledJob, executors
from rabbitmq_server import RabbitMQServer
from resumed_job import lasting

HERE = Path(__file__).parent
CRASH_POINTS = ("after-acks", "during-metadata", "after-metadata", "before-sink-commit")

pytestmark = [pytest.mark.connectors, pytest.mark.fault]


class Copying(KilledJob):
    """The job of `rabbitmq_job`, in one process after the other, each killed somewhere."""

    script = HERE / "rabbitmq_job.py"
    patience_s = 300.0

    def __init__(self, queue: Any, directory: Path, count: int) -> None:
        super().__init__(directory)
        self.queue = queue
        self.expected = [f"message-{number}" for number in range(count)]
        queue.send(*self.expected)

    def arguments(self) -> list[str]:
        return [self.queue.server.url, self.queue.name, str(self.directory)]

    def results(self) -> int:
        return len(self.lines())

    def lines(self) -> list[str]:
        """What is visible."""
        parts = (self.directory / "out").rglob("part-*")
        return [line for part in parts for line in part.read_text().splitlines()]

    def wait_for_more(self, driver: subprocess.Popen[bytes], results: int) -> None:
        """Until so many more are there, or all."""
        self.wait_for(driver, min(self.results() + results, len(self.expected)))

    def check(self) -> None:
        """Finish, and look at the files and at what is left in the queue."""
        driver = self.start()
        self.wait_for(driver, len(self.expected))
        assert driver.poll() is None, self.log
        time.sleep(1)  # for what comes too much, and for acknowledgements
        driver.kill()
        driver.wait()
        assert sorted(self.lines()) == sorted(self.expected)


@executors
def test_driver_and_server_are_killed(
    executor: str, rabbitmq: RabbitMQServer, queue: Any, tmp_path: Path
) -> None:
    traps = ("after-metadata:3", "after-acks:5", "before-sink-commit:4")
    job = Copying(queue, tmp_path, {"epochs": 3_000, "resident": lasting(traps)}[executor])
    job.executor = executor
    for trap in traps:
        assert job.run(trap) == -signal.SIGKILL, job.log
    driver = job.start()
    job.wait_for_more(driver, 200)
    rabbitmq.restart()
    job.wait_for_more(driver, 200)
    driver.kill()
    driver.wait()
    job.check()
    assert queue.left() == []


@pytest.mark.torture
def test_twenty_deaths(rabbitmq: RabbitMQServer, queue: Any, tmp_path: Path) -> None:
    rng, job = random.Random(1), Copying(queue, tmp_path, 20_000)
    for death in range(20):
        if death % 5 != 4:
            trap = f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 9)}"
            assert job.run(trap) == -signal.SIGKILL, job.log
            continue
        driver = job.start()
        job.wait_for_more(driver, rng.randint(1, 400))
        rabbitmq.restart()
        job.wait_for_more(driver, rng.randint(1, 400))
        driver.kill()
        driver.wait()
    job.check()
