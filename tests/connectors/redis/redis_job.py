"""A sum per word in Redis, exactly once: the n-th record adds its number to its word.

Usage: ``redis_job.py URL DIRECTORY COUNT``. Resumes what it finds.
"""

from __future__ import annotations

import sys
from functools import partial

from resumed_job import SMALL_EPOCHS, run_resumed
from wall_clock import WallClock

from millrace.common import WatermarkStrategy
from millrace.common.sink import DeliveryGuarantee
from millrace.connectors import NumberSequenceSource
from millrace.connectors.redis import RedisMapper, RedisSink
from millrace.datastream import StreamExecutionEnvironment

WORDS = 7


def build(env: StreamExecutionEnvironment, url: str, count: int) -> None:
    def commands(number: int) -> list[tuple[object, ...]]:
        word = f"word-{number % WORDS}"
        return [("INCRBY", word, number), ("RPUSH", "log", number)]

    sink = (
        RedisSink.builder()
        .set_url(url)
        .set_mapper(RedisMapper.of(commands))
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_sink_id("sums")
        .build()
    )
    numbers = env.from_source(
        NumberSequenceSource(0, count - 1, splits=2), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.sink_to(sink).uid("sums")


def main(url: str, directory: str, count: str) -> None:
    settings = {
        "execution.checkpointing.dir": directory,
        "execution.checkpointing.interval": "1 ms",
        "millrace.epoch.min-interval": "20 ms",  # so that commits fall in between
        **SMALL_EPOCHS,
    }
    build_it = partial(build, url=url, count=int(count))
    run_resumed("sums", build_it, settings, clock=WallClock())


if __name__ == "__main__":
    main(*sys.argv[1:])
