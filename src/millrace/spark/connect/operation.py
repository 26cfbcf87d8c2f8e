"""`Operation`: one query on a Spark Connect server, which runs in a thread of this process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

__all__ = ["Operation"]

log = logging.getLogger(__name__)

_numbers = count()


class Operation:
    """A running query.

    Args:
        session: session in which the query runs.
        frame: function that makes the DataFrame of the query.
        purpose: word for the names of the thread and of the query's tag.
    """

    def __init__(
        self, session: SparkSession, frame: Callable[[SparkSession], DataFrame], purpose: str
    ) -> None:
        self._session = session
        self._frame = frame
        self._tag = f"millrace-{purpose}-{next(_numbers)}"
        self.rows: list[Any] = []
        """Rows of the answer."""
        self.error: Exception | None = None
        """Error with which the query has ended."""
        self._thread = Thread(target=self._run, name=f"millrace-{purpose}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._session.addTag(self._tag)  # of this thread
            self.rows = self._frame(self._session).collect()
        except Exception as error:  # of PySpark, gRPC or the network
            log.debug("the query %s has failed", self._tag, exc_info=error)
            self.error = error

    @property
    def has_ended(self) -> bool:
        """Whether the query has ended, successfully or not."""
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the query. Returns False if it still runs."""
        self._thread.join(seconds)
        return self.has_ended

    def cancel(self) -> None:
        """Cancel the query, which kills its tasks. Does not wait for them."""
        # the answer is waited for elsewhere, as the server may have gone
        Thread(target=self._interrupt, name="millrace-interrupt", daemon=True).start()

    def _interrupt(self) -> None:
        with suppress(Exception):
            self._session.interruptTag(self._tag)
