"""Futures, under the name that Flink's Python API gives them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Future[T]):
    """A `concurrent.futures.Future`: ``result``, ``exception``, ``done``, ``cancel``.

    Example:
        >>> future = CompletableFuture.completed(3)
        >>> future.done(), future.result()
        (True, 3)
    """

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """A future that already has its result."""
        future: CompletableFuture[T] = CompletableFuture()
        future.set_result(value)
        return future
