"""Restart strategies: when a failed job starts again (Flink docs, "Task Failure Recovery").

These are descriptions only; the engine acts on them. Times are in milliseconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Duration, Time, millis

__all__ = [
    "ExponentialDelayRestartStrategy",
    "FailureRateRestartStrategy",
    "FallbackRestartStrategy",
    "FixedDelayRestartStrategy",
    "NoRestartStrategy",
    "RestartStrategies",
    "RestartStrategyConfiguration",
]

Amount = Duration | Time | timedelta | int


class RestartStrategyConfiguration(ABC):
    """Base class of the descriptions of restart strategies."""

    __slots__ = ()

    @abstractmethod
    def get_description(self) -> str:
        """Description of the strategy, for people."""


@dataclass(frozen=True, slots=True)
class NoRestartStrategy(RestartStrategyConfiguration):
    """Strategy without restarts: the first failure ends the job."""

    def get_description(self) -> str:
        return "Restart deactivated."


@dataclass(frozen=True, slots=True)
class FixedDelayRestartStrategy(RestartStrategyConfiguration):
    """Strategy with a number of restarts, each after the same pause."""

    restart_attempts: int
    delay_ms: int

    def __post_init__(self) -> None:
        require("restart_attempts", self.restart_attempts, 0)
        require("delay_between_attempts", self.delay_ms, 0)

    def get_description(self) -> str:
        delay = Duration.of_millis(self.delay_ms)
        return f"Restart {self.restart_attempts} times with a delay of {delay}."


@dataclass(frozen=True, slots=True)
class FailureRateRestartStrategy(RestartStrategyConfiguration):
    """Strategy with restarts as long as failures are not too frequent."""

    max_failures: int
    interval_ms: int
    delay_ms: int

    def __post_init__(self) -> None:
        require("failure_rate", self.max_failures, 0)
        require("failure_interval", self.interval_ms, 1)
        require("delay_interval", self.delay_ms, 0)

    def get_description(self) -> str:
        interval, delay = Duration.of_millis(self.interval_ms), Duration.of_millis(self.delay_ms)
        return (
            f"Restart with a delay of {delay}, unless there are more than "
            f"{self.max_failures} failures in {interval}."
        )


@dataclass(frozen=True, slots=True)
class ExponentialDelayRestartStrategy(RestartStrategyConfiguration):
    """Strategy with unlimited restarts, whose pauses grow while failures continue."""

    initial_backoff_ms: int
    max_backoff_ms: int
    backoff_multiplier: float
    reset_backoff_threshold_ms: int
    jitter_factor: float

    def __post_init__(self) -> None:
        require("initial_backoff", self.initial_backoff_ms, 1)
        require("max_backoff", self.max_backoff_ms, self.initial_backoff_ms)
        require("backoff_multiplier", self.backoff_multiplier, 1)
        require("reset_backoff_threshold", self.reset_backoff_threshold_ms, 1)
        require("jitter_factor", self.jitter_factor, 0)

    def get_description(self) -> str:
        first = Duration.of_millis(self.initial_backoff_ms)
        last = Duration.of_millis(self.max_backoff_ms)
        reset = Duration.of_millis(self.reset_backoff_threshold_ms)
        return (
            f"Restart with a delay from {first} to {last}, times {self.backoff_multiplier} after "
            f"each failure (jitter {self.jitter_factor}), reset after {reset} without one."
        )


@dataclass(frozen=True, slots=True)
class FallbackRestartStrategy(RestartStrategyConfiguration):
    """The default strategy: no restart (Flink: exponential delay when there are checkpoints)."""

    def get_description(self) -> str:
        return "No restart, whether the job has checkpoints or not."


class RestartStrategies:
    """Factory of restart strategies.

    Example:
        >>> RestartStrategies.fixed_delay_restart(3, 500).get_description()
        'Restart 3 times with a delay of 500 ms.'
    """

    NoRestartStrategyConfiguration = NoRestartStrategy
    FallbackRestartStrategyConfiguration = FallbackRestartStrategy
    FixedDelayRestartStrategyConfiguration = FixedDelayRestartStrategy
    FailureRateRestartStrategyConfiguration = FailureRateRestartStrategy

    @staticmethod
    def no_restart() -> NoRestartStrategy:
        """Strategy without restarts: the first failure ends the job."""
        return NoRestartStrategy()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategy:
        """The default strategy."""
        return FallbackRestartStrategy()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: Amount
    ) -> FixedDelayRestartStrategy:
        """Strategy with a number of restarts, each after a pause (a number is in ms)."""
        return FixedDelayRestartStrategy(restart_attempts, millis(delay_between_attempts))

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: Amount, delay_interval: Amount
    ) -> FailureRateRestartStrategy:
        """Strategy with restarts while the failures in an interval stay within a limit (numbers
        are in ms)."""
        return FailureRateRestartStrategy(
            failure_rate, millis(failure_interval), millis(delay_interval)
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: Amount,
        max_backoff: Amount,
        backoff_multiplier: float,
        reset_backoff_threshold: Amount,
        jitter_factor: float,
    ) -> ExponentialDelayRestartStrategy:
        """Strategy with growing pauses between restarts (numbers are in ms)."""
        return ExponentialDelayRestartStrategy(
            millis(initial_backoff),
            millis(max_backoff),
            backoff_multiplier,
            millis(reset_backoff_threshold),
            jitter_factor,
        )

    @staticmethod
    def from_configuration(configuration: Configuration) -> RestartStrategyConfiguration:
        """The strategy of ``restart-strategy.*``; the default if the configuration names none."""
        make = FROM_CONFIGURATION[configuration.get(options.RESTART_STRATEGY)]
        return make(configuration)


def require(name: str, value: float, minimum: float) -> None:
    """Raise `JobDefinitionError` if a parameter is below its bound."""
    if value < minimum:
        raise JobDefinitionError(
            f"{name} of a restart strategy must be at least {minimum}: {value}"
        )


def fixed_delay(configuration: Configuration) -> RestartStrategyConfiguration:
    return RestartStrategies.fixed_delay_restart(
        configuration.get(options.FIXED_DELAY_ATTEMPTS),
        configuration.get(options.FIXED_DELAY_DELAY),
    )


def failure_rate(configuration: Configuration) -> RestartStrategyConfiguration:
    return RestartStrategies.failure_rate_restart(
        configuration.get(options.FAILURE_RATE_MAX_FAILURES),
        configuration.get(options.FAILURE_RATE_INTERVAL),
        configuration.get(options.FAILURE_RATE_DELAY),
    )


def exponential_delay(configuration: Configuration) -> RestartStrategyConfiguration:
    return RestartStrategies.exponential_delay_restart(
        configuration.get(options.EXPONENTIAL_INITIAL_BACKOFF),
        configuration.get(options.EXPONENTIAL_MAX_BACKOFF),
        configuration.get(options.EXPONENTIAL_MULTIPLIER),
        configuration.get(options.EXPONENTIAL_RESET_THRESHOLD),
        configuration.get(options.EXPONENTIAL_JITTER),
    )


FROM_CONFIGURATION = {
    None: lambda configuration: FallbackRestartStrategy(),
    "none": lambda configuration: NoRestartStrategy(),
    "fixed-delay": fixed_delay,
    "failure-rate": failure_rate,
    "exponential-delay": exponential_delay,
}
FROM_CONFIGURATION |= {
    "off": FROM_CONFIGURATION["none"],
    "disable": FROM_CONFIGURATION["none"],
    "fixeddelay": fixed_delay,
    "failurerate": failure_rate,
    "exponentialdelay": exponential_delay,
}
