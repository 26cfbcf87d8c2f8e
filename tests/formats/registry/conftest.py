"""A schema registry on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from schema_registry import SchemaRegistry


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with SchemaRegistry() as server:
        yield server
