"""Commands that cannot be repeated are carried out once, wherever the driver or server dies."""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import pytest
from killed_job import KilledJob, executors_at_length
from redis_server import RedisServer
from resumed_job import lasting

HERE = Path(__file__).parent
WORDS = 7
CRASH_POINTS = (
    *("after-acks", "during-metadata", "after-metadata", "before-sink-commit"),
    *("before-redis-exec", "after-redis-exec"),
)

pytestmark = pytest.mark.fault


class Sums(KilledJob):
    """The job of `redis_job`, in one process after the other, each killed somewhere."""

    script = HERE / "redis_job.py"
    patience_s = 60.0

    def __init__(self, url: str, redis: Any, directory: Path, count: int) -> None:
        super().__init__(directory)
        self.url = url
        self.redis = redis
        self.count = count

    def arguments(self) -> list[str]:
        return [self.url, str(self.directory / "checkpoints"), str(self.count)]

    def results(self) -> int:
        return int(self.redis.llen("log"))

    def check(self) -> None:
        """Finish, and look at the sums and at what was pushed."""
        assert self.run() == 0, self.log
        pushed = sorted(map(int, self.redis.lrange("log", 0, -1)))
        assert pushed == list(range(self.count))
        for word in range(WORDS):
            assert int(self.redis.get(f"word-{word}")) == sum(range(word, self.count, WORDS))


@pytest.mark.turns(7)
@executors_at_length
def test_the_driver_is_killed_around_transactions(
    executor: str, redis_server: RedisServer, redis: Any, tmp_path: Path
) -> None:
    traps = ("before-redis-exec:2", "after-redis-exec:2", "after-metadata:3")
    count = {"epochs": 2_000, "resident": lasting(traps)}[executor]
    job = Sums(redis_server.url, redis, tmp_path, count)
    job.executor = executor
    for trap in traps:
        assert job.run(trap) == -signal.SIGKILL, job.log
    job.check()


@pytest.mark.torture
def test_twenty_deaths_of_driver_and_server(
    redis_server: RedisServer, redis: Any, tmp_path: Path
) -> None:
    rng, job = random.Random(1), Sums(redis_server.url, redis, tmp_path, 20_000)
    for death in range(20):
        if death % 4 != 3:
            trap = f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 9)}"
            assert job.run(trap) == -signal.SIGKILL, job.log
            continue
        driver = job.start()
        job.wait_for(driver, job.results() + 100)
        redis_server.restart()
        driver.kill()
        driver.wait()
    job.check()
