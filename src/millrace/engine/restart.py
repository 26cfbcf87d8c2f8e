"""Restart strategies in operation: whether and when a job restarts after a failure.

Semantics: Flink docs, "Task Failure Recovery".
"""

from __future__ import annotations

import random
from collections import deque

from millrace.common.config.restart_strategy import (
    ExponentialDelayRestartStrategy,
    FailureRateRestartStrategy,
    FixedDelayRestartStrategy,
    RestartStrategyConfiguration,
)


class RestartDecider:
    """Decides about restarts, one failure after the other. This base class never allows a
    restart."""

    def delay_after_failure(self, now: int) -> int | None:
        """Milliseconds to wait before the restart; None if the job fails."""
        return None


class FixedDelayDecider(RestartDecider):
    """Allows a number of restarts, each after the same delay."""

    def __init__(self, attempts: int, delay: int) -> None:
        self._left = attempts
        self._delay = delay

    def delay_after_failure(self, now: int) -> int | None:
        self._left -= 1
        return self._delay if self._left >= 0 else None


class FailureRateDecider(RestartDecider):
    """Allows restarts as long as failures do not exceed a rate."""

    def __init__(self, max_failures: int, interval: int, delay: int) -> None:
        self._failures: deque[int] = deque()
        self._max = max_failures
        self._interval = interval
        self._delay = delay

    def delay_after_failure(self, now: int) -> int | None:
        self._failures.append(now)
        while self._failures[0] <= now - self._interval:
            self._failures.popleft()
        return self._delay if len(self._failures) <= self._max else None


class ExponentialDelayDecider(RestartDecider):
    """Allows any number of restarts. The delay grows each time, until the job has run well for a
    while."""

    def __init__(self, strategy: ExponentialDelayRestartStrategy) -> None:
        self._strategy = strategy
        self._backoff = float(strategy.initial_backoff_ms)
        self._last_restart: int | None = None

    def delay_after_failure(self, now: int) -> int | None:
        strategy = self._strategy
        ran_well = (
            self._last_restart is not None
            and now - self._last_restart >= strategy.reset_backoff_threshold_ms
        )
        if ran_well:
            self._backoff = float(strategy.initial_backoff_ms)
        delay = self._backoff
        self._backoff = min(delay * strategy.backoff_multiplier, float(strategy.max_backoff_ms))
        jitter = strategy.jitter_factor * delay
        waited = max(0, round(delay + random.uniform(-jitter, jitter)))
        self._last_restart = now + waited
        return waited


def create_decider(strategy: RestartStrategyConfiguration) -> RestartDecider:
    """Decider for a configured strategy."""
    if isinstance(strategy, FixedDelayRestartStrategy):
        return FixedDelayDecider(strategy.restart_attempts, strategy.delay_ms)
    if isinstance(strategy, FailureRateRestartStrategy):
        return FailureRateDecider(strategy.max_failures, strategy.interval_ms, strategy.delay_ms)
    if isinstance(strategy, ExponentialDelayRestartStrategy):
        return ExponentialDelayDecider(strategy)
    return RestartDecider()
