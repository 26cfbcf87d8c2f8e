"""The page about Cassandra: its program runs as it stands there, against a real node."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from cassandra_node import CassandraNode

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "cassandra.md"


@pytest.mark.connectors
def test_the_users_of_the_page(
    cassandra_node: CassandraNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("cassandra_page")
    monkeypatch.setitem(sys.modules, "cassandra_page", page)
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    session = cassandra_node.session()
    session.execute(
        "CREATE KEYSPACE shop WITH replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    session.execute("CREATE TABLE shop.users (id bigint PRIMARY KEY, name text, born int)")
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        node = cassandra_node
        page.write_users(env, "127.0.0.1", node.port, node.user, node.password)
        env.execute("users")
    rows = session.execute("SELECT id, name, born FROM shop.users")
    assert list(map(tuple, rows)) == [(1, "Ada", 1815)]
    session.cluster.shutdown()
