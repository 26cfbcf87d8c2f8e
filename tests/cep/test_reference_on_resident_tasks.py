"""Jobs on resident tasks find the matches that the brute-force reference finds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_patterns import described, patterns, streams
from test_against_reference import KEYS, Stream, Tell, by_names, of_reference
from tests.table.resident_cuts import RESIDENT_CUTS, ResidentCut

from millrace.common import WatermarkStrategy
from millrace.common.time.amounts import Duration
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.cep.pattern_model import EventPattern
from millrace.runtime.operators.cep import CepOperator
from millrace.testing import run_local

OWNERS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(-2, 2)), min_size=8, max_size=8)


def found(pattern: EventPattern, arrived: Stream, cut: ResidentCut, parallelism: int) -> list[Any]:
    """Key, events by name and time of each match. Times are those of the stream, from 100 on."""
    with run_local(executor=cut.executor):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
        timed = env.from_collection([(value, time + 100) for value, time in arrived])
        events = timed.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda event, _: event[1])
        )
        # in one subtask: of events of one time, the one that arrives first is first
        events = events.set_parallelism(1).map(itemgetter(0)).set_parallelism(1)
        keyed = events.key_by(itemgetter(-1))
        factory = partial(CepOperator, pattern, Tell(), keyed._key_batch)
        return list(keyed._then("CEP", factory, Tell()).execute_and_collect())


def expected(pattern: EventPattern, arrived: Stream) -> Iterator[Any]:
    for key in KEYS:
        events = sorted((e for e in arrived if e[0][-1] == key), key=itemgetter(1))
        for takes, time in by_names(of_reference(pattern, events)[0]):
            yield key, takes, time + 100


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(patterns(), streams(8), OWNERS, RESIDENT_CUTS, st.integers(1, 2))
def test_a_job_agrees(
    pattern: EventPattern, stream: Stream, owners: Any, cut: ResidentCut, parallelism: int
) -> None:
    """No event is late: the disorder is within that of the watermark."""
    arrived = [
        (value + key, time + disorder)
        for (value, time), (key, disorder) in zip(stream, owners, strict=False)
    ]
    results = found(pattern, arrived, cut, parallelism)
    assert sorted(results) == sorted(expected(pattern, arrived)), described(pattern)
