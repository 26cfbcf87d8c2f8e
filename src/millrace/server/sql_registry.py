"""A registry in SQLite or PostgreSQL, through SQLAlchemy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, RowMapping, Table, create_engine, event, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from millrace.common.errors import ConfigurationError, StateError
from millrace.common.job import JobStatus
from millrace.filesystem.file_system import FileLock
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.server.registry import (
    Goal,
    ProcessAttempt,
    RegisteredJob,
    Submission,
    TriggeredOperation,
)
from millrace.server.registry_schema import ATTEMPTS, JOBS, TRIGGERS, migrate

__all__ = ["SqlRegistry", "shown_url"]

ADVISORY_LOCK = 0x6D696C6C72616365
"""The number of PostgreSQL's lock that the one server of a registry holds."""


class SqlRegistry:
    """Keeps what a job server remembers in a database.

    Args:
        url: of SQLAlchemy, ``sqlite:///path`` or ``postgresql+psycopg://host/database``.

    Raises:
        ConfigurationError: the URL is of another database.
        StateError: the database cannot be used.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        self._claim: FileLock | Connection | None = None
        try:
            migrate(self._engine)
        except SQLAlchemyError as error:
            raise StateError(f"the registry cannot be opened: {error}") from error

    def claim(self) -> bool:
        path = self._engine.url.database
        if self._engine.dialect.name == "sqlite" and path is not None:
            self._claim = LocalFileSystem().lock(f"{path}.lock")
            return self._claim is not None
        connection = self._engine.connect()
        got = connection.execute(select(text(f"pg_try_advisory_lock({ADVISORY_LOCK})"))).scalar()
        connection.commit()
        if not got:
            connection.close()
            return False
        self._claim = connection
        return True

    def close(self) -> None:
        if isinstance(self._claim, Connection):
            self._claim.close()
        elif self._claim is not None:
            self._claim.release()
        self._engine.dispose()

    def jobs(self) -> list[RegisteredJob]:
        with self._engine.connect() as connection:
            rows = connection.execute(select(JOBS).order_by(JOBS.c.created, JOBS.c.id))
            return [_job(row) for row in rows.mappings()]

    def unfinished_jobs(self) -> list[RegisteredJob]:
        with self._engine.connect() as connection:
            query = select(JOBS).where(JOBS.c.ended.is_(None)).order_by(JOBS.c.created, JOBS.c.id)
            return [_job(row) for row in connection.execute(query).mappings()]

    def job(self, id: str) -> RegisteredJob | None:
        with self._engine.connect() as connection:
            row = connection.execute(select(JOBS).where(JOBS.c.id == id)).mappings().first()
            return None if row is None else _job(row)

    def put_job(self, job: RegisteredJob) -> None:
        values = {
            "id": job.id,
            "submission": msgspec.json.encode(job.submission).decode(),
            "status": job.status.name,
            "goal": job.goal.value,
            "created": job.created,
            "ended": job.ended,
            "error": job.error,
        }
        self._put(JOBS, values)

    def attempts(self, job: str) -> list[ProcessAttempt]:
        with self._engine.connect() as connection:
            query = select(ATTEMPTS).where(ATTEMPTS.c.job == job).order_by(ATTEMPTS.c.number)
            return [ProcessAttempt(**row) for row in connection.execute(query).mappings()]

    def put_attempt(self, attempt: ProcessAttempt) -> None:
        self._put(ATTEMPTS, asdict(attempt))

    def trigger(self, id: str) -> TriggeredOperation | None:
        with self._engine.connect() as connection:
            query = select(TRIGGERS).where(TRIGGERS.c.id == id)
            row = connection.execute(query).mappings().first()
            return None if row is None else TriggeredOperation(**row)

    def open_triggers(self) -> list[TriggeredOperation]:
        with self._engine.connect() as connection:
            query = select(TRIGGERS).where(TRIGGERS.c.result.is_(None), TRIGGERS.c.error.is_(None))
            return [TriggeredOperation(**row) for row in connection.execute(query).mappings()]

    def succeeded_triggers(self) -> list[TriggeredOperation]:
        with self._engine.connect() as connection:
            query = select(TRIGGERS).where(TRIGGERS.c.result.is_not(None), TRIGGERS.c.job != "")
            rows = connection.execute(query.order_by(TRIGGERS.c.created, TRIGGERS.c.id))
            return [TriggeredOperation(**row) for row in rows.mappings()]

    def put_trigger(self, trigger: TriggeredOperation) -> None:
        self._put(TRIGGERS, asdict(trigger))

    def _put(self, table: Table, values: Mapping[str, Any]) -> None:
        """Insert a row, or replace the one of its key."""
        key = list(table.primary_key.columns)
        here = [column == values[column.name] for column in key]
        with self._engine.begin() as connection:
            updated = connection.execute(table.update().where(*here).values(**values))
            if updated.rowcount == 0:
                connection.execute(table.insert().values(**values))


def _job(row: RowMapping) -> RegisteredJob:
    return RegisteredJob(
        id=row["id"],
        submission=msgspec.json.decode(row["submission"], type=Submission),
        status=JobStatus[row["status"]],
        goal=Goal(row["goal"]),
        created=row["created"],
        ended=row["ended"],
        error=row["error"],
    )


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigurationError(f"the registry's URL cannot be read: {error}") from None
    kind = parsed.get_backend_name()
    if kind == "sqlite" and parsed.database:
        _make_private(Path(parsed.database))
    elif kind != "postgresql":
        raise ConfigurationError(
            f"a registry is sqlite:///PATH or postgresql+psycopg://HOST/DATABASE, not {kind}"
        )
    engine = create_engine(parsed)
    if kind == "sqlite":
        event.listen(engine, "connect", _be_durable)
    return engine


def shown_url(url: str) -> str:
    """The URL of a registry without its password."""
    return make_url(url).render_as_string(hide_password=True)


def _make_private(path: Path) -> None:
    """Submissions have arguments in them, which are their user's."""
    LocalFileSystem().make_directory(str(path.parent), durable=False)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _be_durable(connection: Any, record: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA busy_timeout=10000")
