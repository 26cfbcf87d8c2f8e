"""Cache of answers that stay valid for a moment, because dashboards and scrapers repeat the same
requests.

Flink: ``ExecutionGraphCache``, which keeps what the web UI shows for ``web.refresh-interval``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response

__all__ = ["KEPT_SECONDS", "AnswerKey", "KeptAnswers"]

KEPT_SECONDS = 0.5
"""Seconds for which an answer is cached. Jobs report once a second or less."""
MOST_ANSWERS = 512
MOST_BYTES = 256 << 10
"""Largest size in bytes of an answer that is cached."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """A request and the role of its sender, because some answers show more to operators."""

    path: bytes
    query: bytes
    role: int


class KeptAnswers:
    """Cache of answers, valid until the registry changes or `seconds` have passed.

    All calls come from the thread of the event loop.

    Args:
        changes: function that returns the number of changes this server has made to its registry.
        seconds: 0: nothing is kept.

    Example:
        >>> kept = KeptAnswers(changes=lambda: 0, seconds=60)
        >>> key = AnswerKey(b"/overview", b"", 1)
        >>> began = kept.began()
        >>> kept.keep(key, Response(b"{}"), began)
        >>> kept.find(key).body
        b'{}'
    """

    def __init__(
        self,
        changes: Callable[[], int],
        seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._changes = changes
        self._seconds = seconds
        self._clock = clock
        self._answers: dict[AnswerKey, Response] = {}
        self._seen = changes()
        self._until = clock() + seconds
        self._period = 0

    def began(self) -> int:
        """Number of the cache's current period. An answer that was begun in an earlier period may
        be outdated; see `keep`.
        """
        self._refresh()
        return self._period

    def find(self, key: AnswerKey) -> Response | None:
        """The cached answer; None if it must be computed."""
        self._refresh()
        return self._answers.get(key)

    def keep(self, key: AnswerKey, answer: Response, began: int) -> None:
        """Cache an answer, unless it is an error or may already be outdated."""
        self._refresh()
        if (
            began == self._period
            and answer.status_code == 200
            and len(answer.body) <= MOST_BYTES
            and len(self._answers) < MOST_ANSWERS
        ):
            self._answers[key] = answer

    def _refresh(self) -> None:
        now, changes = self._clock(), self._changes()
        if now >= self._until or changes != self._seen:
            self._answers.clear()
            self._seen, self._until = changes, now + self._seconds
            self._period += 1
