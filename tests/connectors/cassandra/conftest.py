"""A table of its own for each test, on the node that all tests share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from cassandra_node import CassandraNode


@pytest.fixture(scope="session")
def session(cassandra_node: CassandraNode) -> Iterator[Any]:
    """A session with the keyspace ``tests``."""
    session = cassandra_node.session()
    session.execute(
        "CREATE KEYSPACE IF NOT EXISTS tests WITH replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    yield session
    session.cluster.shutdown()


@pytest.fixture
def table(session: Any) -> str:
    """An empty table of sums."""
    name = f"tests.t{uuid.uuid4().hex[:12]}"
    session.execute(
        f"CREATE TABLE {name} "
        "(key text PRIMARY KEY, total bigint, note text, raw blob, flag boolean, day date)"
    )
    return name
