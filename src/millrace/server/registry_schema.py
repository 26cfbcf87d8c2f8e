"""The tables of a registry in a database, and the steps from each version of them to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
)

from millrace.common.errors import StateError

__all__ = ["ATTEMPTS", "JOBS", "TRIGGERS", "migrate"]

_TABLES = MetaData()

VERSION = Table("millrace_schema", _TABLES, Column("version", Integer, nullable=False))
JOBS = Table(
    "millrace_jobs",
    _TABLES,
    Column("id", String(32), primary_key=True),
    Column("submission", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("goal", String(8), nullable=False),
    Column("created", BigInteger, nullable=False, index=True),
    Column("ended", BigInteger),
    Column("error", Text, nullable=False),
)
ATTEMPTS = Table(
    "millrace_attempts",
    _TABLES,
    Column("job", String(32), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("pid", Integer, nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("outcome", Text, nullable=False),
)
TRIGGERS = Table(
    "millrace_triggers",
    _TABLES,
    Column("id", String(32), primary_key=True),
    Column("job", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("run_id", String(64), nullable=False),
    Column("message", String(32), nullable=False),
    Column("result", Text),
    Column("error", Text),
)


def _create(connection: Connection) -> None:
    _TABLES.create_all(connection)


STEPS: Sequence[Callable[[Connection], None]] = (_create,)
"""Step n makes version n + 1 of version n. Once released, a step is not changed."""


def migrate(engine: Engine) -> None:
    """Bring the tables to the version of this program.

    Raises:
        StateError: they are of a later version.
    """
    with engine.begin() as connection:
        found = _version(connection)
        if found > len(STEPS):
            raise StateError(
                f"the registry is of version {found}, this Millrace knows {len(STEPS)}: "
                "run the newer Millrace, or name another registry"
            )
        for step in STEPS[found:]:
            step(connection)
        if found < len(STEPS):
            connection.execute(VERSION.delete())
            connection.execute(VERSION.insert().values(version=len(STEPS)))


def _version(connection: Connection) -> int:
    if not inspect(connection).has_table(VERSION.name):
        return 0
    return connection.execute(select(VERSION.c.version)).scalar() or 0
