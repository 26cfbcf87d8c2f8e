"""A connection to PostgreSQL that does not wait forever."""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any

import psycopg

__all__ = ["ANSWER_TIME", "TimedConnection"]

ANSWER_TIME = 5.0
"""Seconds in which the database must answer. The registry's statements take milliseconds."""


class TimedConnection(psycopg.Connection[Any]):
    """Connection that fails and closes when the database has not answered for `ANSWER_TIME`.

    What PostgreSQL and TCP have for this does not help against a server that stands still: its
    machine still acknowledges what arrives.
    """

    def wait(self, gen: Any, *args: Any, **settings: Any) -> Any:
        return super().wait(self._limited(gen), *args, **settings)

    def _limited(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        deadline = monotonic() + ANSWER_TIME
        try:
            state = next(steps)
            while True:
                ready = yield state
                # psycopg looks now and then, also if nothing has come
                if not ready and monotonic() > deadline:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(
                        f"the database has not answered for {ANSWER_TIME:g} s"
                    )
                state = steps.send(ready)
        except StopIteration as end:
            return end.value
