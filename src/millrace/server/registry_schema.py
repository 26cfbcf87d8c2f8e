"""The tables of a registry in a database, as the newest migration leaves them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
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
    text,
)

from millrace.common.errors import StateError
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.server.migrations.version_table import VERSION_TABLE

__all__ = ["ATTEMPTS", "FENCE", "JOBS", "LEASE", "TABLES", "TRIGGERS", "migrate"]

TABLES = MetaData()

JOBS = Table(
    "millrace_jobs",
    TABLES,
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
    TABLES,
    Column("job", String(32), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("pid", Integer, nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("outcome", Text, nullable=False),
    Column("host", Text, nullable=False, server_default=""),
    Column("space", Text, nullable=False, server_default=""),
    Column("token", BigInteger, nullable=False, server_default="0"),
)
TRIGGERS = Table(
    "millrace_triggers",
    TABLES,
    Column("id", String(32), primary_key=True),
    Column("job", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("run_id", String(64), nullable=False),
    Column("message", String(32), nullable=False),
    Column("result", Text),
    Column("error", Text),
)
FENCE = Table(
    "millrace_fence",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("token", BigInteger, nullable=False),
)
"""Table with one row: the fencing token under which the registry is written."""
LEASE = Table(
    "millrace_lease",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
)
"""Table with one row: the leader and the end of its lease by the database's clock, if the lease is
in this database."""

FIRST = "0001"
BEFORE = "millrace_schema"
"""Table that held the version before there were revisions."""
_MIGRATION_LOCK = 0x6D696C6C6D696772


def migrate(engine: Engine) -> None:
    """Migrate the tables to the revision of this program.

    Raises:
        StateError: the tables belong to a later version.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    with _exclusively(engine) as connection:
        revision = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE}
        ).get_current_revision()
        known = {step.revision for step in ScriptDirectory.from_config(config).walk_revisions()}
        if revision is not None and revision not in known:
            raise StateError(
                f"the registry has revision {revision}, and this version of Millrace knows "
                f"revisions up to {max(known)}: run a newer version, or name another registry"
            )
        config.attributes["connection"] = connection
        if inspect(connection).has_table(BEFORE):
            command.stamp(config, FIRST)
            connection.execute(text(f"DROP TABLE {BEFORE}"))
        if revision != max(known):
            command.upgrade(config, "head")


@contextmanager
def _exclusively(engine: Engine) -> Iterator[Connection]:
    """A transaction in which no other server migrates: servers may start at the same time."""
    database = engine.url.database
    if engine.dialect.name == "sqlite" and database:
        lock = LocalFileSystem().lock(f"{database}.migration.lock", wait=True)
        with lock or nullcontext(), engine.begin() as connection:
            yield connection
        return
    with engine.begin() as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
        yield connection
