"""Scores visits slowly, most of which are those of one visitor: back pressure and skew. No
arguments."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from typing import Any

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.testing import CollectingSink

SETTINGS = {
    "execution.checkpointing.interval": "2 s",
    "execution.runtime-mode": "STREAMING",
    "millrace.preview.enabled": "true",
}
Visit = tuple[str, str, float]


def visit(number: int) -> Visit:
    """A made-up visit."""
    rng = random.Random(number)
    visitor = "crawler" if rng.random() < 0.8 else f"visitor-{rng.randrange(2_000)}"
    return visitor, f"/page/{rng.randrange(50)}", time.time()


class Score(KeyedProcessFunction[str, Visit, tuple[str, int]]):
    """Counts the pages of each visitor, and thinks for a while about each."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.pages = runtime_context.get_state(ValueStateDescriptor("pages"))
        self.scored = runtime_context.get_metrics_group().counter("visitsScored")

    def process_element(self, value: Visit, ctx: Any) -> Iterable[tuple[str, int]]:
        pages = (self.pages.value() or 0) + 1
        self.pages.update(pages)
        self.scored.inc()
        risk(pages)
        yield value[0], pages


def risk(pages: int) -> float:
    """Takes a millisecond."""
    until, value = time.perf_counter() + 0.001, 0.0
    while time.perf_counter() < until:
        value += (pages * 31 % 97) / 97
    return value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(SETTINGS))
    rate = RateLimiterStrategy.per_second(4_000)
    source = DataGeneratorSource(visit, rate_limiter_strategy=rate, splits=2)
    stamped = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda visit, _: int(visit[2] * 1_000)
    )
    visits = env.from_source(source, stamped, "Website visits of all regions").uid("visits")
    pages = visits.filter(lambda visit: visit[1] != "/page/0").name("Without the home page")
    scores = pages.uid("pages").key_by(lambda visit: visit[0]).process(Score())
    scored = scores.name("Score of each visitor").uid("scores")
    alarms = scored.filter(lambda score: score[1] > 100).name("More than 100 pages").uid("alarms")
    alarms.rebalance().sink_to(CollectingSink()).name("Alarms").uid("sink")
    env.execute("Visitors by score")


if __name__ == "__main__":
    main()
