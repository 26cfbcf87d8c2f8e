"""A database whose changes are captured by a test, and what is rebuilt from these."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from kafka_topics import WallClock
from postgresql import PostgreSQL

from millrace.common import Configuration, Row, RowKind, WatermarkStrategy
from millrace.connectors.postgres_cdc import PostgresCdcSource, PostgresCdcSourceBuilder
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local


class CapturedDatabase:
    """A new database of a server."""

    def __init__(self, server: PostgreSQL) -> None:
        self.server = server
        self.name = server.create_database()
        self.slot = f"slot_{self.name}"
        self.sql = self.connect()

    def connect(self, autocommit: bool = True) -> psycopg.Connection[Any]:
        """A connection with the settings of the source."""
        return psycopg.connect(
            self.server.url(self.name), autocommit=autocommit, options="-c TimeZone=UTC"
        )

    def run(self, *statements: str) -> None:
        """Each in a transaction of its own."""
        for statement in statements:
            self.sql.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query gives."""
        return self.sql.execute(query).fetchall()

    def builder(self, *tables: str) -> PostgresCdcSourceBuilder[Any]:
        """Builder of a source of some tables."""
        return (
            PostgresCdcSource.builder()
            .hostname("127.0.0.1")
            .port(self.server.port)
            .database(self.name)
            .username(self.server.user)
            .password(self.server.password)
            .table_list(*(tables or ("public.*",)))
            .slot_name(self.slot)
        )

    def __enter__(self) -> CapturedDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(psycopg.Error):
            self.sql.close()
        self.sql = self.connect()
        self.run(
            "select pg_terminate_backend(active_pid) from pg_replication_slots "
            "where database = current_database() and active"
        )
        for _ in range(100):  # its process takes a moment to end
            with suppress(psycopg.errors.ObjectInUse):
                self.run(
                    "select pg_drop_replication_slot(slot_name) from pg_replication_slots "
                    "where database = current_database()"
                )
                break
        self.sql.close()


def captured(source: PostgresCdcSource[Any], directory: Path, **local: Any) -> list[Any]:
    """What a run gives that ends where the log ends when it begins; it resumes what it finds."""
    settings = Configuration({"millrace.available-now": "true"})
    with run_local(clock=WallClock(), checkpoint_dir=str(directory), **local):
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.set_parallelism(2)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "cdc").uid("cdc")
        return list(stream.execute_and_collect("capture"))


def kinds(rows: Iterable[Row]) -> list[str]:
    """The rows as texts, with the letters that Flink prints for their kinds."""
    letters = {
        RowKind.INSERT: "+I",
        RowKind.UPDATE_BEFORE: "-U",
        RowKind.UPDATE_AFTER: "+U",
        RowKind.DELETE: "-D",
    }
    return [f"{letters[row.get_row_kind()]}{tuple(row)}" for row in rows]


class RebuiltTable:
    """A table as its changes tell, which must fit one behind the other."""

    def __init__(self, key_width: int = 1) -> None:
        self.rows: dict[Any, tuple[Any, ...]] = {}
        self._width = key_width

    def apply(self, kind: RowKind, values: tuple[Any, ...]) -> None:
        """One change; it fails if the row is not as the change says."""
        key = values[: self._width]
        if kind is RowKind.INSERT:
            assert key not in self.rows, f"{values} comes twice"
            self.rows[key] = values
        elif kind is RowKind.UPDATE_AFTER:
            assert key in self.rows, f"{values} updates nothing"
            self.rows[key] = values
        else:
            assert self.rows[key] == values, f"{values} is not what was there"
            if kind is RowKind.DELETE:
                del self.rows[key]


class Churn:
    """Random transactions on a table ``(id, name, amount)``: inserts, updates also of the key,
    deletes, some of them rolled back, some large.

    Args:
        key: SQL that makes a key of a number.
        few: SQL for the rows that large transactions change.
    """

    def __init__(
        self,
        database: CapturedDatabase,
        table: str,
        seed: int,
        ids: int,
        key: str = "%s",
        few: str = "true",
    ) -> None:
        self._connection = database.connect(autocommit=False)
        self._random = random.Random(seed)
        self._ids = ids
        self.changes = 0
        self._insert = (
            f"insert into {table} values ({key}, 'row ' || %s, 0.5) on conflict do nothing"
        )
        self._update = f"update {table} set amount = amount + 1.25 where id = {key}"
        self._delete = f"delete from {table} where id = {key}"
        self._rename = (
            f"update {table} set id = {key} where id = {key} "
            f"and not exists (select from {table} where id = {key})"
        )
        self._range = f"update {table} set name = name || '.' where amount < %s and {few}"

    def transaction(self) -> None:
        """The next one."""
        rng, sql = self._random, self._connection
        changed = 0
        for _ in range(rng.choice([1, 1, 2, 5, 20])):
            number, other, dice = rng.randrange(self._ids), rng.randrange(self._ids), rng.random()
            if dice < 0.35:
                cursor = sql.execute(self._insert, (number, number))
            elif dice < 0.7:
                cursor = sql.execute(self._update, (number,))
            elif dice < 0.85:
                cursor = sql.execute(self._delete, (number,))
            else:
                cursor = sql.execute(self._rename, (other, number, other))
            changed += cursor.rowcount
        if rng.random() < 0.02:
            changed += sql.execute(self._range, (rng.choice([0.6, 2.0]),)).rowcount
        if rng.random() < 0.1:
            sql.rollback()
        else:
            sql.commit()
            self.changes += changed

    def close(self) -> None:
        self._connection.close()
