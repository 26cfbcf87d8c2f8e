from __future__ import annotations

from millrace.common.config.restart_strategy import RestartStrategies
from millrace.engine.restart import create_decider


def delays(strategy, *times: int) -> list[int | None]:
    decider = create_decider(strategy)
    return [decider.delay_after_failure(time) for time in times]


def test_none() -> None:
    assert delays(RestartStrategies.no_restart(), 0) == [None]


def test_fixed_delay() -> None:
    strategy = RestartStrategies.fixed_delay_restart(2, 500)
    assert delays(strategy, 0, 1, 10**9, 10**9) == [500, 500, None, None]


def test_failure_rate() -> None:
    strategy = RestartStrategies.failure_rate_restart(2, 1000, 50)
    assert delays(strategy, 0, 400, 1000, 1400, 1500) == [50, 50, 50, 50, None]


def test_exponential_delay() -> None:
    strategy = RestartStrategies.exponential_delay_restart(100, 500, 2.0, 10_000, 0.0)
    assert delays(strategy, 0, 1, 2, 3, 4) == [100, 200, 400, 500, 500]


def test_exponential_delay_starts_again_after_it_ran_well() -> None:
    strategy = RestartStrategies.exponential_delay_restart(100, 500, 2.0, 10_000, 0.0)
    assert delays(strategy, 0, 1_000, 11_200) == [100, 200, 100]
    assert delays(strategy, 0, 1_000, 11_199) == [100, 200, 400]


def test_jitter_stays_in_bounds() -> None:
    strategy = RestartStrategies.exponential_delay_restart(1000, 1000, 1.0, 10_000, 0.1)
    found = delays(strategy, *range(200))
    assert all(delay is not None and 900 <= delay <= 1100 for delay in found)
    assert len(set(found)) > 10
