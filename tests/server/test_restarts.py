"""When a job whose process died is started again: every time is given, no clock runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from millrace.common.config.restart_strategy import RestartStrategies
from millrace.server.registry import ProcessAttempt
from millrace.server.restarts import CRASHED, DEFAULT, next_start, strategy_of

FIXED = RestartStrategies.fixed_delay_restart(2, 500)


def crashes(*times: int) -> list[ProcessAttempt]:
    return [
        ProcessAttempt("a" * 32, number, 1, time - 10, time, f"{CRASHED}: signal 9")
        for number, time in enumerate(times)
    ]


def test_the_delay_counts_from_the_crash() -> None:
    assert next_start(FIXED, crashes(1_000)) == 1_500
    assert next_start(FIXED, crashes(1_000, 7_000)) == 7_500


def test_a_strategy_gives_up() -> None:
    assert next_start(FIXED, crashes(1_000, 2_000, 3_000)) is None
    assert next_start(RestartStrategies.no_restart(), crashes(1_000)) is None


def test_crashes_long_ago_do_not_count_for_a_failure_rate() -> None:
    strategy = RestartStrategies.failure_rate_restart(2, 10_000, 100)
    assert next_start(strategy, crashes(1_000, 2_000, 3_000)) is None
    assert next_start(strategy, crashes(1_000, 20_000, 40_000)) == 40_100


def test_only_crashes_count() -> None:
    (crash,) = crashes(1_000)
    running = replace(crash, number=1, ended=None, outcome="")
    finished = replace(crash, number=2, ended=9_000, outcome="finished")
    assert next_start(FIXED, []) == 0
    assert next_start(FIXED, [crash, running, finished]) == 1_500


def test_the_default_waits_longer_each_time() -> None:
    times = [10_000, 20_000, 30_000, 40_000]
    delays = [(next_start(DEFAULT, crashes(*times[:n])) or 0) - times[n - 1] for n in range(1, 5)]
    # each is half as long again, with a tenth of jitter at both ends
    assert all(earlier < later for earlier, later in pairwise(delays))
    assert delays[0] == pytest.approx(1_000, rel=0.11)


def test_a_job_that_told_nothing_yet_has_the_default() -> None:
    assert strategy_of(None) == DEFAULT
