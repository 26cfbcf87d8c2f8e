"""A connection that is opened when it is needed, and opened again after it broke."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, TypeVar

from millrace.connectors.jdbc.client import connect, create_engine, telling
from millrace.connectors.jdbc.connection_options import JdbcConnectionOptions
from millrace.connectors.retries import FixedPauses, retried

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["JdbcSession"]

T = TypeVar("T")
_LOGGER = logging.getLogger("millrace.jdbc")
_PAUSES_S = (0.25, 1.0, 4.0)
"""Seconds before each retry; the last number is for all further retries. Flink waits as long."""


class JdbcSession:
    """A sequence of connections to one database, of which at most one is open at a time.

    Args:
        options: connection options of the database.
        prepare: called with each new connection, in a transaction of its own.
    """

    def __init__(
        self,
        options: JdbcConnectionOptions,
        prepare: Callable[[Connection], object] | None = None,
    ) -> None:
        self._options = options
        self._prepare = prepare
        self._engine: Engine | None = None
        self._connection: Connection | None = None

    def transaction(
        self,
        work: Callable[[Connection], T],
        retries: int = 0,
        logger: logging.Logger = _LOGGER,
    ) -> T:
        """Run work in a transaction of its own, and return its result.

        Args:
            retries: maximum number of repetitions, each on a new connection, if the server went
                away or rolled the work back. The work must be repeatable, because it may have been
                done already.

        Raises:
            ConnectionError: the server does not answer, or rolled it back.
            JdbcError: the work cannot be done.
        """
        pauses = FixedPauses(islice(chain(_PAUSES_S, repeat(_PAUSES_S[-1])), retries))
        return retried(lambda: self._attempt(work), pauses, logger)

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        if self._engine is None:
            self._engine = create_engine(self._options)
        try:
            with telling(self._engine):
                if self._connection is None:
                    self._connection = connect(self._engine)
                    if self._prepare is not None:
                        with self._connection.begin():
                            self._prepare(self._connection)
                with self._connection.begin():
                    return work(self._connection)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next transaction opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
