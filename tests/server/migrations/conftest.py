"""Databases without tables, and what their tables lack."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine

from millrace.server.migrations.version_table import VERSION_TABLE
from millrace.server.registry_schema import TABLES


@pytest.fixture
def engine(url: str, tmp_path) -> Engine:
    (tmp_path / "server").mkdir()
    return create_engine(url)


@pytest.fixture
def differences(engine: Engine) -> Callable[[], list[object]]:
    """Between the tables of the database and those that the program works with."""

    def find() -> list[object]:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        with engine.connect() as connection:
            return compare_metadata(MigrationContext.configure(connection, opts=options), TABLES)

    return find
