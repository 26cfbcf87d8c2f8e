"""A collection of its own for each test, on the server that all tests share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from ferretdb import FerretDB


@pytest.fixture
def collection(ferretdb: FerretDB) -> Iterator[Any]:
    """An empty collection that is not there yet."""
    import pymongo

    client: Any = pymongo.MongoClient(ferretdb.uri, serverSelectionTimeoutMS=10_000)
    yield client["tests"][f"c{uuid.uuid4().hex[:12]}"]
    client.close()
