"""Databases for tests of the JDBC connector."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from databases import Database

MARIADB = pytest.param("mariadb", marks=pytest.mark.connectors)


@pytest.fixture(params=["sqlite", "postgresql", MARIADB])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database: a file, on PostgreSQL, on MariaDB."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'test.db'}"
    else:
        server = request.getfixturevalue(request.param)
        url = server.url(server.create_database())
    database = Database(url)
    yield database
    database.close()
