"""The log of a Kafka client: repeated messages are counted instead of written each time."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ClientLog"]

_PAUSE_S = 60.0
_MOST_KINDS = 1_000
_NUMBER = re.compile(r"\d+(?!\S*/)")
"""A number that differs from one repetition to the next, such as a time; not a broker's address."""
_PASSING = re.compile(r"load in progress|retrying", re.IGNORECASE)
_QUIET = frozenset({"BGQUEUE"})
"""Facilities with messages about the client's own tidying up, which nobody can act on."""


@dataclass(slots=True)
class _Repeats:
    next_line_s: float
    unwritten: int = 0


class ClientLog:
    """The logger that one client of librdkafka gets.

    A client that cannot connect logs each attempt, several times a second. Of messages that differ
    only in numbers, the first is written, and then one a minute, with the number of the others;
    at level DEBUG, all are.
    """

    def __init__(
        self, logger: logging.Logger | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger = logger or logging.getLogger("millrace.kafka")
        self._now = now
        self._repeats: dict[tuple[str, str], _Repeats] = {}

    def log(self, level: int, form: str, facility: str, client: str, text: str) -> None:
        """Log a message; the client calls this with the arguments of `logging.Logger.log`."""
        if facility in _QUIET or (facility == "GETPID" and _PASSING.search(text)):
            self._logger.debug(form, facility, client, text)
            return
        now = self._now()
        if len(self._repeats) > _MOST_KINDS:
            self._repeats.clear()
        repeats = self._repeats.setdefault((facility, _NUMBER.sub("", text)), _Repeats(now))
        if now < repeats.next_line_s:
            repeats.unwritten += 1
            self._logger.debug(form, facility, client, text)
            return
        more = f" ({repeats.unwritten} more like this)" if repeats.unwritten else ""
        repeats.next_line_s, repeats.unwritten = now + _PAUSE_S, 0
        self._logger.log(level, form + "%s", facility, client, text, more)
