"""Restarts of jobs whose process has died, by the job's own restart strategy."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.common.config.configuration import Configuration
from millrace.common.config.restart_strategy import (
    FallbackRestartStrategy,
    RestartStrategies,
    RestartStrategyConfiguration,
)
from millrace.engine.archived_job import ArchivedJob
from millrace.engine.restart import create_decider
from millrace.server.registry import ProcessAttempt

__all__ = ["CRASHED", "next_start", "strategy_of"]

CRASHED = "crashed"
"""Outcome of an attempt whose process died without a report of the job's end."""
DEFAULT = RestartStrategies.exponential_delay_restart(1_000, 60_000, 1.5, 3_600_000, 0.1)
"""Strategy of jobs that choose none: Flink's default for jobs with checkpoints, which all jobs of a
server have."""


def strategy_in(defaults: Configuration) -> RestartStrategyConfiguration:
    """The restart strategy for jobs that choose none, found in the server's defaults for jobs."""
    strategy = RestartStrategies.from_configuration(defaults)
    return DEFAULT if isinstance(strategy, FallbackRestartStrategy) else strategy


def strategy_of(
    archive: ArchivedJob | None, default: RestartStrategyConfiguration = DEFAULT
) -> RestartStrategyConfiguration:
    """The restart strategy that a job has chosen; ``default`` if it has chosen none."""
    if archive is None:
        return default
    strategy = archive.restart.strategy()
    return default if isinstance(strategy, FallbackRestartStrategy) else strategy


def next_start(
    strategy: RestartStrategyConfiguration, attempts: Iterable[ProcessAttempt]
) -> int | None:
    """Time at which the next process starts, in ms since the Unix epoch; 0 if no process has
    crashed, None if no process will start.

    The strategy is told of all crashes again, so that a server goes on where another one was.
    """
    decider = create_decider(strategy)
    start: int | None = 0
    for attempt in attempts:
        if attempt.ended is not None and attempt.outcome.startswith(CRASHED):
            delay = decider.delay_after_failure(attempt.ended)
            start = None if delay is None else attempt.ended + delay
    return start
