"""Publication and replication slot: checks, and creation if they are missing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from millrace.connectors.postgres_cdc.captured_table import CapturedTable, created_again, quoted
from millrace.connectors.postgres_cdc.connection import PostgresCdcError, import_psycopg
from millrace.connectors.postgres_cdc.log_position import format_lsn, parse_lsn

__all__ = [
    "advance_slot",
    "current_log_end",
    "drop_slot",
    "end_readers",
    "ensure_publication",
    "ensure_slot",
    "require_position",
    "require_slot",
    "require_unchanged",
    "require_wal_level",
]

_PATIENCE_S = 2.0
_MOMENT_S = 0.02


def require_wal_level(connection: Any) -> None:
    """Refuse a server whose log does not support logical decoding.

    Raises:
        PostgresCdcError: its ``wal_level`` is not ``logical``.
    """
    level = connection.execute("show wal_level").fetchone()[0]
    if level != "logical":
        raise PostgresCdcError(
            f"the server's wal_level is '{level}', but changes can only be read from a log of "
            "level 'logical': ALTER SYSTEM SET wal_level = logical, and restart the server"
        )


def ensure_publication(connection: Any, name: str, tables: Sequence[CapturedTable]) -> bool:
    """Create the publication of the tables, or check that the existing one contains them.

    Returns:
        Whether it was created.

    Raises:
        PostgresCdcError: it lacks tables or kinds of changes, or cannot be created.
    """
    row = connection.execute(
        "select pubinsert and pubupdate and pubdelete, pubviaroot from pg_publication "
        "where pubname = %s",
        (name,),
    ).fetchone()
    if row is None:
        _create_publication(connection, name, tables)
        return True
    complete, via_root = row
    if not complete:
        raise PostgresCdcError(
            f"publication '{name}' leaves out some kinds of changes: ALTER PUBLICATION "
            f"{quoted(name)} SET (publish = 'insert, update, delete, truncate')"
        )
    if not via_root and any(table.partitioned for table in tables):
        raise PostgresCdcError(
            f"publication '{name}' publishes changes of partitions under the names of the "
            f"partitions: ALTER PUBLICATION {quoted(name)} SET (publish_via_partition_root "
            "= true)"
        )
    _require_tables(connection, name, tables)
    return False


def _require_tables(connection: Any, name: str, tables: Sequence[CapturedTable]) -> None:
    rows = connection.execute(
        "select schemaname, tablename from pg_publication_tables where pubname = %s", (name,)
    )
    published = set(rows)
    missing = [t.quoted for t in tables if (t.schema, t.name) not in published]
    if missing:
        raise PostgresCdcError(
            f"publication '{name}' lacks tables that are to be captured: ALTER PUBLICATION "
            f"{quoted(name)} ADD TABLE {', '.join(missing)}. Changes that were made before "
            "are read only if the job starts without a checkpoint"
        )


def _create_publication(connection: Any, name: str, tables: Sequence[CapturedTable]) -> None:
    listed = ", ".join(table.quoted for table in tables)
    statement = (
        f"CREATE PUBLICATION {quoted(name)} FOR TABLE {listed} "
        "WITH (publish_via_partition_root = true)"
    )
    try:
        connection.execute(statement)
    except import_psycopg().Error as error:
        raise PostgresCdcError(
            f"cannot create publication '{name}' ({_first_line(error)}); an owner of the "
            f"tables can: {statement}"
        ) from error


def require_unchanged(connection: Any, publication: str, tables: Sequence[CapturedTable]) -> None:
    """Refuse to continue if changes of an existing table are not captured.

    Raises:
        PostgresCdcError: a table was renamed, or created again, or is not in the publication.
    """
    rows = connection.execute(
        "select c.oid, n.nspname, c.relname from pg_class c join pg_namespace n "
        "on n.oid = c.relnamespace where c.oid = any(%s) or (n.nspname, c.relname) in "
        "(select * from unnest(%s::text[], %s::text[]))",
        ([t.oid for t in tables], [t.schema for t in tables], [t.name for t in tables]),
    ).fetchall()
    names = {oid: f"{schema}.{name}" for oid, schema, name in rows}
    for table in tables:
        if names.get(table.oid, table.full_name) != table.full_name:
            raise PostgresCdcError(
                f"table {table.full_name} is now called {names[table.oid]}: rename it back, "
                "or start without a checkpoint"
            )
        if table.oid not in names and table.full_name in names.values():
            raise created_again(table)
    _require_tables(connection, publication, [t for t in tables if t.oid in names])


def ensure_slot(connection: Any, name: str, new_publication: bool) -> tuple[int, bool]:
    """Create the replication slot, or check the existing one; returns its position and whether it
    is new.

    Waits until the transactions have ended that are running when it creates one.

    Returns:
        The position from which on it has all changes, and whether it was created.

    Raises:
        PostgresCdcError: there is one of another kind, or none can be created.
    """
    row = _slot(connection, name)
    if row is None:
        return _create_slot(connection, name), True
    plugin, database, position, status = row
    current = connection.execute("select current_database()").fetchone()[0]
    if plugin != "pgoutput" or database != current:
        raise PostgresCdcError(
            f"replication slot '{name}' has plugin {plugin} in database {database}; this "
            f"source needs a slot with pgoutput in {current}: choose another slot_name()"
        )
    if status == "lost" or position is None:
        raise PostgresCdcError(f"replication slot '{name}' has lost changes: {drop_hint(name)}")
    if new_publication:
        raise PostgresCdcError(
            f"replication slot '{name}' is older than its publication, so it cannot be read: "
            f"{drop_hint(name)}"
        )
    return parse_lsn(position), False


def require_slot(connection: Any, name: str) -> None:
    """Refuse to start at the position of a slot that does not exist.

    Raises:
        PostgresCdcError: it is not.
    """
    if _slot(connection, name) is None:
        raise PostgresCdcError(
            f"there is no replication slot '{name}' with a committed position to start at: "
            "choose StartupOptions.initial() or latest()"
        )


def drop_hint(name: str) -> str:
    """Advice for an unusable slot."""
    return f"SELECT pg_drop_replication_slot('{name}'), and start without a checkpoint"


def require_position(connection: Any, name: str, lsn: int) -> None:
    """Refuse to continue at a position for which the slot no longer has all changes.

    Raises:
        PostgresCdcError: it does not, or is gone.
    """
    row = _slot(connection, name)
    if row is None:
        raise PostgresCdcError(
            f"replication slot '{name}' is gone, and with it changes that have not been "
            "read: start without a checkpoint, so that all tables are read again"
        )
    _, _, position, status = row
    if status == "lost" or position is None:
        raise PostgresCdcError(
            f"replication slot '{name}' has lost changes that have not been read, because "
            f"the server keeps only max_slot_wal_keep_size of them: {drop_hint(name)}"
        )
    if parse_lsn(position) > lsn:
        raise PostgresCdcError(
            f"replication slot '{name}' has been read beyond the position of the "
            "checkpoint, by a later checkpoint of this job or by another reader; the "
            "changes in between cannot be read again: resume from the latest checkpoint, or "
            f"{drop_hint(name)}"
        )


def current_log_end(connection: Any) -> int:
    """Position after all changes that transactions have written so far."""
    return parse_lsn(connection.execute("select pg_current_wal_insert_lsn()::text").fetchone()[0])


def advance_slot(connection: Any, name: str, lsn: int) -> None:
    """Advance the slot, so that the server discards changes committed before a position."""
    connection.execute(
        "select pg_replication_slot_advance(%s, %s::pg_lsn)", (name, format_lsn(lsn))
    )


def drop_slot(connection: Any, name: str, reader: str) -> None:
    """Drop the slot, so that the server no longer keeps changes for it.

    Args:
        reader: application name of connections that may still hold it.

    Raises:
        psycopg.Error: somebody else holds it, or it is not ours to drop.
    """
    end_readers(connection, name, reader)
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            connection.execute(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots "
                "where slot_name = %s",
                (name,),
            )
            return
        except import_psycopg().errors.ObjectInUse:  # whoever was ended takes a moment
            if time.monotonic() > until:
                raise
            time.sleep(_MOMENT_S)


def end_readers(connection: Any, name: str, reader: str) -> None:
    """Terminate connections of this job that hold the slot. A worker that was killed or
    disconnected may not have closed its own."""
    connection.execute(
        "select pg_terminate_backend(s.active_pid) from pg_replication_slots s join "
        "pg_stat_activity a on a.pid = s.active_pid where s.slot_name = %s and "
        "a.application_name = %s",
        (name, reader),
    )


def _slot(connection: Any, name: str) -> Any:
    return connection.execute(
        "select plugin, database, confirmed_flush_lsn::text, wal_status from pg_replication_slots "
        "where slot_name = %s",
        (name,),
    ).fetchone()


def _create_slot(connection: Any, name: str) -> int:
    try:
        row = connection.execute(
            "select lsn::text from pg_create_logical_replication_slot(%s, 'pgoutput')", (name,)
        ).fetchone()
    except import_psycopg().Error as error:
        raise PostgresCdcError(
            f"cannot create replication slot '{name}': {_first_line(error)}. The user needs "
            "the attribute REPLICATION, and the server a free slot within "
            "max_replication_slots"
        ) from error
    return parse_lsn(row[0])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
