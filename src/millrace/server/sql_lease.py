"""A lease in the database of a registry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import ColumnElement, Connection, Engine, func, literal_column, or_, select
from sqlalchemy.exc import SQLAlchemyError

from millrace.common.errors import StateError
from millrace.server.leadership import ServerIdentity
from millrace.server.lease_leadership import LeaseRow
from millrace.server.registry_schema import FENCE, LEASE

__all__ = ["SqlLease"]

POSTGRESQL_CLOCK: ColumnElement[int] = literal_column(
    "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
)


class SqlLease:
    """The row of the lease; each method is one statement and one transaction.

    Args:
        engine: SQLAlchemy's engine of a registry's database, which has the tables.
        clock: the database's, in ms since the epoch of Unix.
    """

    def __init__(self, engine: Engine, clock: ColumnElement[int] = POSTGRESQL_CLOCK) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._now = clock

    def read(self) -> LeaseRow:
        query = select(LEASE.c.token, LEASE.c.holder, LEASE.c.until <= self._now)
        with self._connection() as connection:
            token, holder, is_over = connection.execute(query).one()
        return LeaseRow(token, ServerIdentity.decoded(holder), bool(is_over))

    def take(self, holder: ServerIdentity, milliseconds: int, dead: int | None) -> int | None:
        fence = select(FENCE.c.token).scalar_subquery()
        largest = func.max if self._engine.dialect.name == "sqlite" else func.greatest
        free = LEASE.c.until <= self._now
        taken = (
            LEASE.update()
            .where(free if dead is None else or_(free, LEASE.c.token == dead))
            .values(
                token=largest(LEASE.c.token, fence) + 1,
                until=self._now + milliseconds,
                holder=holder.encoded(),
            )
            .returning(LEASE.c.token)
        )
        with self._connection() as connection:
            token: int | None = connection.execute(taken).scalar()
        return token

    def extend(self, token: int, milliseconds: int) -> bool:
        extended = (
            LEASE.update()
            .where(LEASE.c.token == token, LEASE.c.until > self._now)
            .values(until=self._now + milliseconds)
        )
        with self._connection() as connection:
            return connection.execute(extended).rowcount > 0

    def give_back(self, token: int) -> None:
        with self._connection() as connection:
            connection.execute(LEASE.update().where(LEASE.c.token == token).values(until=0))

    def close(self) -> None:
        pass  # the registry closes its connections

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StateError(f"the database of the registry cannot be used: {error}") from error
