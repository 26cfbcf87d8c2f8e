"""Retry strategies of asynchronous requests, at PyFlink's path."""

from __future__ import annotations

from typing import TypeVar

from millrace.common.functions.async_functions import (
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)

__all__ = [
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]

OUT = TypeVar("OUT")

NO_RETRY_STRATEGY: AsyncRetryStrategy = NoRetryStrategy()
"""Strategy without retries."""
