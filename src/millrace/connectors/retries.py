"""Retries of requests that failed, and the pauses before them."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["FixedPauses", "GrowingPauses", "Pauses", "retried"]

T = TypeVar("T")


class Pauses(ABC):
    """The pauses before the retries of one request."""

    @abstractmethod
    def next(self, progress: bool, took: float) -> float | None:
        """Seconds until the next retry; None if no retry is left.

        Args:
            progress: whether some entries got in.
            took: seconds of the request itself.
        """


class FixedPauses(Pauses):
    """A fixed list of pauses, one for each retry.

    >>> pauses = FixedPauses([0.5])
    >>> pauses.next(False, 0), pauses.next(False, 0)
    (0.5, None)
    """

    def __init__(self, seconds: Iterable[float]) -> None:
        self._seconds = iter(seconds)

    def next(self, progress: bool, took: float) -> float | None:
        return next(self._seconds, None)


class GrowingPauses(Pauses):
    """Pauses that double with each retry, and end if no entry is accepted for a while.

    Args:
        patience: seconds of pauses and requests without an entry that got in.
    """

    def __init__(self, first: float, longest: float, patience: float) -> None:
        self._first, self._longest, self._patience = first, longest, patience
        self._pause, self._waited = first, 0.0

    def next(self, progress: bool, took: float) -> float | None:
        self._waited += took  # a service that is away takes half a minute to be
        if progress:
            self._pause, self._waited = self._first, 0.0
        if self._waited >= self._patience:
            return None
        pause = self._pause
        self._waited += pause
        self._pause = min(2 * pause, self._longest)
        return pause


def retried(
    attempt: Callable[[], T],
    pauses: Pauses,
    logger: logging.Logger,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Result of the first attempt that succeeds; the request is repeated after a pause.

    Args:
        sleep: waits between attempts; replaced by tests.

    Raises:
        ConnectionError: an attempt failed, and no retry is left.
    """
    while True:
        begun = time.monotonic()
        try:
            return attempt()
        except ConnectionError as error:
            pause = pauses.next(False, time.monotonic() - begun)
            if pause is None:
                raise
            logger.warning("trying again in %g s: %s", pause, error)
            sleep(pause)
