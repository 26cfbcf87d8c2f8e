"""Retry schedule of failed bulk requests."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Backoff", "FlushBackoffType"]


class FlushBackoffType(Enum):
    """Growth of the pauses between retries. Flink docs: "Elasticsearch", Retries."""

    CONSTANT = "CONSTANT"
    """Every wait is the configured delay."""
    EXPONENTIAL = "EXPONENTIAL"
    """The first wait is the configured delay, and each is twice the one before."""
    NONE = "NONE"
    """Nothing is sent again: the job's restart strategy decides. The default."""


@dataclass(frozen=True)
class Backoff:
    """A schedule of retries.

    Example:
        >>> Backoff(FlushBackoffType.EXPONENTIAL, 3, 50).waits()
        [0.05, 0.1, 0.2]
    """

    kind: FlushBackoffType = FlushBackoffType.NONE
    max_retries: int = 0
    delay_millis: int = 0

    def waits(self) -> list[float]:
        """Seconds to wait before each retry, in order."""
        if self.kind is FlushBackoffType.NONE:
            return []
        growth = 2 if self.kind is FlushBackoffType.EXPONENTIAL else 1
        return [self.delay_millis / 1000 * growth**retry for retry in range(self.max_retries)]
