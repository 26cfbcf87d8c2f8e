"""Restart strategies."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.config.restart_strategy import (
    ExponentialDelayRestartStrategy,
    FailureRateRestartStrategy,
    FallbackRestartStrategy,
    FixedDelayRestartStrategy,
    NoRestartStrategy,
    RestartStrategies,
)
from millrace.common.errors import JobDefinitionError
from millrace.common.time import Duration, Time

PREFIX = "restart-strategy."


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, FallbackRestartStrategy()),
        ({"type": "none"}, NoRestartStrategy()),
        ({"type": "off"}, NoRestartStrategy()),
        ({"type": "disable"}, NoRestartStrategy()),
        ({"type": "fixeddelay"}, FixedDelayRestartStrategy(1, 1_000)),
        ({"type": "failurerate"}, FailureRateRestartStrategy(1, 60_000, 1_000)),
        ({"type": "fixed-delay"}, FixedDelayRestartStrategy(1, 1_000)),
        (
            {"type": "fixed-delay", "fixed-delay.attempts": "3", "fixed-delay.delay": "500 ms"},
            FixedDelayRestartStrategy(3, 500),
        ),
        ({"type": "failure-rate"}, FailureRateRestartStrategy(1, 60_000, 1_000)),
        (
            {"type": "exponential-delay"},
            ExponentialDelayRestartStrategy(1_000, 60_000, 1.5, 3_600_000, 0.1),
        ),
    ],
)
def test_from_configuration(settings: dict[str, str], expected: Any) -> None:
    """Every strategy, with Flink's defaults."""
    configuration = Configuration({PREFIX + key: value for key, value in settings.items()})
    assert RestartStrategies.from_configuration(configuration) == expected


def test_made_in_code() -> None:
    """Any amount of time; numbers are milliseconds."""
    fixed = RestartStrategies.fixed_delay_restart(3, Duration.of_seconds(10))
    assert fixed == FixedDelayRestartStrategy(3, 10_000)
    rate = RestartStrategies.failure_rate_restart(2, Time.minutes(5), Time.seconds(1))
    assert rate == FailureRateRestartStrategy(2, 300_000, 1_000)
    exponential = RestartStrategies.exponential_delay_restart(
        initial_backoff=1,
        max_backoff=100,
        backoff_multiplier=2.0,
        reset_backoff_threshold=1_000,
        jitter_factor=0.0,
    )
    assert exponential == ExponentialDelayRestartStrategy(1, 100, 2.0, 1_000, 0.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (RestartStrategies.no_restart, "deactivated"),
        (RestartStrategies.fall_back_restart, "checkpoints"),
        (lambda: RestartStrategies.fixed_delay_restart(3, 500), "3 times with a delay of 500 ms"),
        (
            lambda: RestartStrategies.failure_rate_restart(2, 300_000, 1_000),
            "2 failures in 5 min",
        ),
        (
            lambda: RestartStrategies.exponential_delay_restart(1_000, 60_000, 2.0, 5_000, 0.1),
            "from 1 s to 1 min, times 2.0",
        ),
    ],
)
def test_descriptions_and_pickling(make: Any, words: str) -> None:
    """Strategies are data that people can read."""
    strategy = make()
    assert words in strategy.get_description()
    assert pickle.loads(pickle.dumps(strategy)) == strategy


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: RestartStrategies.fixed_delay_restart(-1, 0), "restart_attempts"),
        (lambda: RestartStrategies.fixed_delay_restart(1, -1), "delay_between_attempts"),
        (lambda: RestartStrategies.failure_rate_restart(1, 0, 0), "failure_interval"),
        (
            lambda: RestartStrategies.exponential_delay_restart(10, 5, 2.0, 1, 0.1),
            "max_backoff",
        ),
        (
            lambda: RestartStrategies.exponential_delay_restart(1, 5, 0.5, 1, 0.1),
            "backoff_multiplier",
        ),
    ],
)
def test_wrong_parameters_are_refused(make: Any, name: str) -> None:
    """When the strategy is made, by the name of the parameter."""
    with pytest.raises(JobDefinitionError, match=f"{name} of a restart strategy must be at least"):
        make()


def test_strategies_have_flinks_names_too() -> None:
    """Programs ask for the class of a strategy through `RestartStrategies`."""
    made = RestartStrategies.failure_rate_restart(5, 10_000, 5_000)
    assert isinstance(made, RestartStrategies.FailureRateRestartStrategyConfiguration)
    assert not isinstance(made, RestartStrategies.FixedDelayRestartStrategyConfiguration)
