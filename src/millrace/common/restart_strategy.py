"""PyFlink's path of what is in `millrace.common.config.restart_strategy`."""

from __future__ import annotations

from millrace.common.config.restart_strategy import (
    ExponentialDelayRestartStrategy,
    FailureRateRestartStrategy,
    FallbackRestartStrategy,
    FixedDelayRestartStrategy,
    NoRestartStrategy,
    RestartStrategies,
    RestartStrategyConfiguration,
)

__all__ = [
    "ExponentialDelayRestartStrategy",
    "FailureRateRestartStrategy",
    "FallbackRestartStrategy",
    "FixedDelayRestartStrategy",
    "NoRestartStrategy",
    "RestartStrategies",
    "RestartStrategyConfiguration",
]
