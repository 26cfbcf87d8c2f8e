"""A registry in SQLite or PostgreSQL, through SQLAlchemy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    RowMapping,
    Table,
    cast,
    create_engine,
    event,
    exists,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
    TimeoutError,
)

from millrace.common.errors import ConfigurationError, StateError
from millrace.common.job import JobStatus
from millrace.common.typed_json import decode_json
from millrace.filesystem.file_system import FileLock
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.server.registry import (
    JobGoal,
    LeadershipLostError,
    ProcessAttempt,
    RegisteredJob,
    Submission,
    TriggeredOperation,
)
from millrace.server.registry_schema import ATTEMPTS, FENCE, JOBS, TRIGGERS, migrate
from millrace.server.restarts import CRASHED

__all__ = ["SqlRegistry", "registry_is_away", "shown_url"]

ADVISORY_LOCK = 0x6D696C6C72616365
"""Number of the PostgreSQL lock that a server holds while it is the only one of a registry."""
POSTGRESQL = {
    "connect_timeout": "2",
    "keepalives_idle": "2",
    "keepalives_interval": "1",
    "keepalives_count": "2",
    "tcp_user_timeout": "2000",
}
"""Settings of connections, unless the URL has them. A server must notice an unreachable database
well before its lease ends."""

POOL_TIMEOUT = 5.0
"""Seconds that a request waits for a free connection."""


class SqlRegistry:
    """Registry of a job server in a database: jobs, attempts and triggers. Each call is durable
    when it returns. Flink: ``JobGraphStore`` and ``JobResultStore``.

    For several threads, and read by several servers. It is written under the fencing token of the
    server that leads, told by `enter`: once a server has entered with a greater one, whatever a
    server with a lesser one wants to write is refused with LeadershipLostError.

    Args:
        url: SQLAlchemy's URL: ``sqlite:///path`` or ``postgresql+psycopg://host/database``.

    Raises:
        ConfigurationError: the URL is of another database.
        StateError: the database cannot be used.
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        """SQLAlchemy's engine, also for other tables in this database."""
        self._at_once = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self.changes = 0
        """Number of durable changes made through this object."""
        self._counted = count(1)
        self._token: int | None = None
        self._claim: FileLock | Connection | None = None
        try:
            migrate(self.engine)
        except SQLAlchemyError as error:
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise StateError(f"the registry {shown_url(url)} cannot be opened: {reason}") from error
        if self.engine.dialect.driver == "psycopg":
            event.listen(self.engine, "do_connect", _connect_timed)
            self.engine.dispose()  # what was made for the migration, which may take its time

    def claim(self) -> bool:
        """Claim the registry for this server alone, and begin to write; False if another process
        has claimed it.
        """
        path = self.engine.url.database
        if self.engine.dialect.name == "sqlite" and path is not None:
            self._claim = LocalFileSystem().lock(f"{path}.lock")
        else:
            self._claim = self._advisory_lock()
        if self._claim is not None:
            self.enter(self.last_token() + 1)
        return self._claim is not None

    def _advisory_lock(self) -> Connection | None:
        connection = self.engine.connect()
        got = connection.execute(select(text(f"pg_try_advisory_lock({ADVISORY_LOCK})"))).scalar()
        connection.commit()
        if not got:
            connection.close()
            return None
        return connection

    def last_token(self) -> int:
        """The greatest fencing token of any server; 0 if there was none."""
        with self.engine.connect() as connection:
            return connection.execute(select(FENCE.c.token)).scalar() or 0

    def enter(self, token: int) -> None:
        """Begin to write, under a fencing token.

        Raises:
            LeadershipLostError: a server has entered with a greater one.
        """
        raised = FENCE.update().where(FENCE.c.token <= token).values(token=token)
        with self._at_once.connect() as connection:
            entered = connection.execute(raised).rowcount
        if not entered:
            raise LeadershipLostError(
                f"the registry is written under the fencing token {self.last_token()}, but "
                f"this server leads only under {token}: another server leads. If no other "
                "server leads, the storage of high-availability.type was deleted; set "
                "another path for it"
            )
        self._token = token

    def leave(self) -> None:
        """Stop writing to the registry."""
        self._token = None

    def close(self) -> None:
        """Release the registry."""
        if isinstance(self._claim, Connection):
            # the database notices later that a connection is closed, and until then nobody leads
            with suppress(SQLAlchemyError):
                self._claim.execute(select(text(f"pg_advisory_unlock({ADVISORY_LOCK})")))
            self._claim.close()
        elif self._claim is not None:
            self._claim.release()
        self.engine.dispose()

    def jobs(self) -> list[RegisteredJob]:
        """All jobs, the oldest first."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(JOBS).order_by(JOBS.c.created, JOBS.c.id))
            return [_job(row) for row in rows.mappings()]

    def unfinished_jobs(self) -> list[RegisteredJob]:
        """Jobs that have not ended, the oldest first."""
        with self.engine.connect() as connection:
            query = select(JOBS).where(JOBS.c.ended.is_(None)).order_by(JOBS.c.created, JOBS.c.id)
            return [_job(row) for row in connection.execute(query).mappings()]

    def job(self, id: str) -> RegisteredJob | None:
        """The job with the given id; None if there is none."""
        with self.engine.connect() as connection:
            row = connection.execute(select(JOBS).where(JOBS.c.id == id)).mappings().first()
            return None if row is None else _job(row)

    def put_job(self, job: RegisteredJob) -> None:
        """Store a new job or a job's new state."""
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

    def forget_jobs(self, keep: int, before: int | None = None) -> list[str]:
        """Delete all ended jobs but the last ``keep``, with their attempts and triggers; return the
        ids. Jobs with an open trigger stay.

        Args:
            keep: number of ended jobs that are kept.
            before: jobs that ended before this time (ms since the Unix epoch) are deleted, too.
        """
        is_open = TRIGGERS.c.result.is_(None) & TRIGGERS.c.error.is_(None)
        query = (
            select(JOBS.c.id)
            .where(JOBS.c.ended.is_not(None))
            .order_by(JOBS.c.ended.desc(), JOBS.c.id)
            .offset(keep)
        )
        with self.engine.connect() as connection:
            waiting = set(connection.execute(select(TRIGGERS.c.job).where(is_open)).scalars())
            forgotten = list(connection.execute(query).scalars())
            if before is not None:
                expired = select(JOBS.c.id).where(JOBS.c.ended < before)
                forgotten += connection.execute(expired).scalars()
            ids = [id for id in dict.fromkeys(forgotten) if id not in waiting]
        for id in ids:
            # the job last: a server that is killed in between leaves it to be found again
            for column in (ATTEMPTS.c.job, TRIGGERS.c.job, JOBS.c.id):
                self._delete(column, id)
        return ids

    def attempts(self, job: str) -> list[ProcessAttempt]:
        """The processes of a job, in order of their start."""
        with self.engine.connect() as connection:
            query = select(ATTEMPTS).where(ATTEMPTS.c.job == job).order_by(ATTEMPTS.c.number)
            return [ProcessAttempt(**row) for row in connection.execute(query).mappings()]

    def restarts(self, job: str | None = None) -> dict[str, int]:
        """Number of restarts after the death of a process, per job; jobs without restarts are left
        out.

        Args:
            job: id of the only job to count for; None for all jobs.
        """
        later = ATTEMPTS.alias()
        same_job, follows = later.c.job == ATTEMPTS.c.job, later.c.number > ATTEMPTS.c.number
        query = (
            select(ATTEMPTS.c.job, func.count())
            .where(ATTEMPTS.c.outcome.startswith(CRASHED), exists().where(same_job, follows))
            .group_by(ATTEMPTS.c.job)
        )
        if job is not None:
            query = query.where(ATTEMPTS.c.job == job)
        with self.engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def put_attempt(self, attempt: ProcessAttempt) -> None:
        """Store a new attempt or an attempt's new state."""
        self._put(ATTEMPTS, asdict(attempt))

    def trigger(self, id: str) -> TriggeredOperation | None:
        """The trigger with the given id; None if there is none."""
        with self.engine.connect() as connection:
            query = select(TRIGGERS).where(TRIGGERS.c.id == id)
            row = connection.execute(query).mappings().first()
            return None if row is None else TriggeredOperation(**row)

    def open_triggers(self) -> list[TriggeredOperation]:
        """Triggers without an answer."""
        with self.engine.connect() as connection:
            query = select(TRIGGERS).where(TRIGGERS.c.result.is_(None), TRIGGERS.c.error.is_(None))
            return [TriggeredOperation(**row) for row in connection.execute(query).mappings()]

    def succeeded_triggers(self, job: str | None = None) -> list[TriggeredOperation]:
        """Triggers of one job, or of all jobs, that have a result; the oldest first."""
        wanted = TRIGGERS.c.job != "" if job is None else TRIGGERS.c.job == job
        with self.engine.connect() as connection:
            query = select(TRIGGERS).where(TRIGGERS.c.result.is_not(None), wanted)
            rows = connection.execute(query.order_by(TRIGGERS.c.created, TRIGGERS.c.id))
            return [TriggeredOperation(**row) for row in rows.mappings()]

    def put_trigger(self, trigger: TriggeredOperation) -> None:
        """Store a new trigger or its answer."""
        self._put(TRIGGERS, asdict(trigger))

    def forget_triggers(self, job: str, keep: int) -> None:
        """Delete the answered triggers of a job, except the newest ``keep``.

        Args:
            job: its id; empty: those that belong to no job.
            keep: number of answered triggers that are kept.
        """
        is_done = TRIGGERS.c.result.is_not(None) | TRIGGERS.c.error.is_not(None)
        query = (
            select(TRIGGERS.c.id)
            .where(TRIGGERS.c.job == job, is_done)
            .order_by(TRIGGERS.c.created.desc(), TRIGGERS.c.id)
            .offset(keep)
        )
        with self.engine.connect() as connection:
            ids = list(connection.execute(query).scalars())
        for id in ids:
            self._delete(TRIGGERS.c.id, id)

    def _delete(self, column: Column[str], value: str) -> None:
        """Delete the rows with a value, if the server's token is still the greatest."""
        leads = select(FENCE.c.id).where(FENCE.c.token == self._token).exists()
        with self._at_once.connect() as connection:
            connection.execute(column.table.delete().where(column == value, leads))
            self.changes = next(self._counted)
            if self.last_token() != self._token:
                raise LeadershipLostError("this server does not lead, so it deletes no old jobs")

    def _put(self, table: Table, values: Mapping[str, Any]) -> None:
        """Insert a row or replace the row with its key, if the server's token is still the
        greatest.

        That is one statement, and a transaction of its own: a server that is stopped can keep none
        open, and so can hold up no other one.
        """
        names = list(values)
        row = [cast(literal(values[name]), table.c[name].type) for name in names]
        # where rows can be locked, who enters waits for a write that has begun
        allowed = select(*row).where(FENCE.c.token == self._token).with_for_update(read=True)
        insert = sqlite_insert if self.engine.dialect.name == "sqlite" else postgresql_insert
        statement = insert(table).from_select(names, allowed.select_from(FENCE))
        key = table.primary_key.columns
        changed = {name: statement.excluded[name] for name in names if name not in key}
        put = statement.on_conflict_do_update(index_elements=list(key), set_=changed)
        with self._at_once.connect() as connection:
            written = connection.execute(put, execution_options={"preserve_rowcount": True})
            if not written.rowcount:
                raise LeadershipLostError("this server does not lead, so it changes no job")
        self.changes = next(self._counted)


def _job(row: RowMapping) -> RegisteredJob:
    return RegisteredJob(
        id=row["id"],
        submission=decode_json(row["submission"], Submission),
        status=JobStatus[row["status"]],
        goal=JobGoal(row["goal"]),
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
    if kind == "sqlite":
        engine = create_engine(parsed, hide_parameters=True)
        event.listen(engine, "connect", _be_durable)
        return engine
    quick = {name: value for name, value in POSTGRESQL.items() if name not in parsed.query}
    known = parsed.update_query_dict(quick)
    # in what is logged of an error: arguments of programs may be secrets
    return create_engine(known, pool_pre_ping=True, pool_timeout=POOL_TIMEOUT, hide_parameters=True)


def _connect_timed(dialect: Any, record: Any, args: Any, settings: Any) -> Any:
    from millrace.server.timed_connection import TimedConnection

    return TimedConnection.connect(*args, **settings)


def registry_is_away(error: Exception) -> bool:
    """Whether an error means that the registry's database cannot be reached or does not answer."""
    return isinstance(error, OperationalError | InterfaceError | TimeoutError)


def shown_url(url: str) -> str:
    """The URL of a registry without its passwords.

    Example:
        >>> shown_url("postgresql+psycopg://me:geheim@host/jobs?sslpassword=geheim")
        'postgresql+psycopg://me:***@host/jobs?sslpassword=hidden'
    """
    parsed = make_url(url)
    hidden = {name: "hidden" for name in parsed.query if "password" in name.lower()}
    return parsed.update_query_dict(hidden).render_as_string(hide_password=True)


def _make_private(path: Path) -> None:
    """Make a file private: submissions contain the arguments of a user."""
    LocalFileSystem().make_directory(str(path.parent), durable=False)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _be_durable(connection: Any, record: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA busy_timeout=10000")
