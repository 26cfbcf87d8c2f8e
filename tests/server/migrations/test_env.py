"""Registries are brought to the revision of the program, by one server at a time."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import Engine, text

from millrace.common.errors import StateError
from millrace.server.migrations.version_table import VERSION_TABLE
from millrace.server.registry_schema import migrate
from millrace.server.sql_registry import SqlRegistry


def test_a_new_registry(engine: Engine, differences) -> None:
    assert differences()
    for _ in range(2):
        migrate(engine)
        assert differences() == []


def test_a_later_revision_is_left_alone(engine: Engine, differences, url: str) -> None:
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(StateError, match="revision 9999, .* run a newer version, or name"):
        SqlRegistry(url)


def test_servers_that_are_started_at_the_same_time(engine: Engine, differences, url: str) -> None:
    failures: list[BaseException] = []

    def open_registry() -> None:
        try:
            SqlRegistry(url).close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_registry) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert differences() == []
