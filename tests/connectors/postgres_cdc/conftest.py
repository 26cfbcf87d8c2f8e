"""Databases of a real PostgreSQL server, and sources of their changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from captured_database import CapturedDatabase
from postgresql import PostgreSQL


@pytest.fixture
def database(postgresql: PostgreSQL) -> Iterator[CapturedDatabase]:
    """A new database, whose replication slot is gone after the test."""
    with CapturedDatabase(postgresql) as database:
        yield database
