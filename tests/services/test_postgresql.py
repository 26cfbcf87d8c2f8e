"""PostgreSQL as tests use it: databases of their own, logical replication, crashes."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgresql import PostgreSQL


def test_each_test_has_a_database_of_its_own(postgresql: PostgreSQL) -> None:
    first, second = postgresql.create_database(), postgresql.create_database()
    postgresql.run_sql("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)", first)
    assert postgresql.run_sql("SELECT a, -a FROM t ORDER BY a", first) == "1|-1\n2|-2"
    with pytest.raises(RuntimeError, match='"t" does not exist'):
        postgresql.run_sql("SELECT * FROM t", second)


def test_changes_can_be_followed(postgresql: PostgreSQL) -> None:
    name = postgresql.create_database()
    create = "SELECT pg_create_logical_replication_slot('followed', 'pgoutput')"
    try:
        assert "followed" in postgresql.run_sql(create, name)
    finally:
        postgresql.run_sql("SELECT pg_drop_replication_slot('followed')", name)


def test_what_was_committed_outlives_a_crash(tmp_path: Path) -> None:
    with PostgreSQL(tmp_path) as server:
        port = server.port
        server.run_sql("CREATE TABLE kept AS SELECT 1 AS a")
        server.restart()
        assert server.port == port
        assert server.run_sql("SELECT a FROM kept") == "1"
        [process] = server._processes
    assert process.poll() is not None
