"""Whole jobs, an epoch for every event or two, find what the reference finds on either backend."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from pattern_notation import pattern
from random_patterns import streams
from reference_matcher import Reference

from millrace.cep import CEP
from millrace.common import Configuration, WatermarkStrategy
from millrace.common.config import options
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

END = 2**62
PATTERN = "[to_next] a .. ( b .. c? )+ combinations ..! a2 within:6"


def found(stream: list[tuple[str, int]], backend: str, directory: Any) -> list[Any]:
    """The matches of a job with two workers that take turns."""
    configuration = Configuration()
    configuration.set(options.STATE_BACKEND, backend)
    configuration.set_string("state.backend.rocksdb.localdir", str(directory))
    times: Any = WatermarkStrategy.for_monotonous_timestamps()
    times = times.with_timestamp_assigner(lambda value, _: value[1])
    with run_local(workers=2, seed=3, epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        events = env.from_collection(stream).assign_timestamps_and_watermarks(times)
        keyed = events.map(lambda value: value[0]).key_by(lambda value: "all")
        with CEP.pattern(keyed, pattern(PATTERN)).select(dict).execute_and_collect() as matches:
            return list(matches)


def wanted(stream: list[tuple[str, int]]) -> list[Any]:
    matches = []
    for outcome in Reference(pattern(PATTERN).model(), stream, END).matches():
        match: dict[str, list[str]] = {}
        for name, number in outcome.takes:
            match.setdefault(name, []).append(stream[number][0])
        matches.append(match)
    return matches


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(stream=streams(8))
def test_a_job_agrees(backend: str, tmp_path: Any, stream: list[tuple[str, int]]) -> None:
    assert found(stream, backend, tmp_path) == wanted(stream)
