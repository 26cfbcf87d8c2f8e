"""Connections to PostgreSQL, and the meaning of their errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError

__all__ = ["PostgresCdcError", "PostgresConnection", "RetryTimer", "import_psycopg"]

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0


class PostgresCdcError(ConnectorError):
    """Changes of PostgreSQL are not readable, or the server is not configured as the job
    requires."""


def import_psycopg() -> Any:
    """Import the module psycopg.

    Raises:
        PostgresCdcError: it is not installed.
    """
    try:
        import psycopg
    except ImportError as error:
        raise PostgresCdcError(
            missing_package(
                "change data capture from PostgreSQL needs",
                "psycopg",
                "postgres-cdc",
                on_workers=True,
            )
        ) from error
    return psycopg


@dataclass(frozen=True)
class PostgresConnection:
    """Address and credentials of the database; part of the program, and of no checkpoint.

    Attributes:
        hostname: host name of the server.
        port: port of the server.
        database: its name there.
        username: user; None to use libpq's default (``PGUSER``).
        password: never shown; None to use libpq's default (``PGPASSWORD``, ``~/.pgpass``).
        options: further libpq parameters, such as ``sslmode``.
    """

    hostname: str
    port: int
    database: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.database} at {self.hostname}:{self.port}"

    def connect(self, application_name: str) -> Any:
        """A connection for SQL, in autocommit mode.

        Raises:
            psycopg.OperationalError: the server is not reachable or does not let us in.
        """
        return import_psycopg().connect(self._conninfo(application_name), autocommit=True)

    def connect_for_replication(self, application_name: str) -> Any:
        """A ``psycopg.pq.PGconn`` that accepts commands of the replication protocol.

        Raises:
            psycopg.OperationalError: the server is not reachable or does not let us in.
        """
        psycopg = import_psycopg()
        conninfo = self._conninfo(application_name, replication="database")
        connection = psycopg.pq.PGconn.connect(conninfo.encode())
        if connection.status != psycopg.pq.ConnStatus.OK:
            raise psycopg.OperationalError(connection.get_error_message())
        return connection

    def _conninfo(self, application_name: str, **more: str) -> str:
        """Connection string with session settings that make both kinds of connections format
        values alike."""
        import_psycopg()
        from psycopg.conninfo import make_conninfo

        known: dict[str, Any] = {
            "host": self.hostname,
            "port": self.port,
            "dbname": self.database,
            "user": self.username,
            "password": self.password,
            "application_name": application_name,
            "client_encoding": "UTF8",
            "connect_timeout": "10",
            # a server that is gone without a word is noticed in a minute, not in hours
            "keepalives_idle": "30",
            "keepalives_interval": "10",
            "keepalives_count": "3",
            "tcp_user_timeout": "60000",
            "options": "-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=postgres "
            "-c bytea_output=hex -c extra_float_digits=1",
        }
        given = dict(self.options)
        # the last word is ours: values are read as these settings have them written
        own = f"{given.pop('options', '')} {known.pop('options')}".strip()
        return str(make_conninfo(**known | given | more, options=own))


class RetryTimer:
    """Schedule of retries after failures, with a time limit.

    Args:
        patience: seconds after the first failure of a series.
        clock: seconds, of any origin.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self._since: float | None = None
        self._next = 0.0
        self._pause = _FIRST_PAUSE_S

    @property
    def due(self) -> bool:
        """Whether the next attempt may start now."""
        return self._clock() >= self._next

    def succeeded(self) -> None:
        """Record a successful attempt, which ends the series of failures."""
        self._since, self._next, self._pause = None, 0.0, _FIRST_PAUSE_S

    def failed(self) -> bool:
        """Record a failed attempt.

        Returns:
            Whether there is another.
        """
        now = self._clock()
        if self._since is None:
            self._since = now
        self._next = now + self._pause
        self._pause = min(_LONGEST_PAUSE_S, 2 * self._pause)
        return now - self._since < self._patience
