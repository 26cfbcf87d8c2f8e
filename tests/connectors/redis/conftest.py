"""An empty database of the Redis server that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis_server import RedisServer


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[Any]:
    """A client of an empty database, which answers with texts."""
    import redis

    client = redis.Redis.from_url(redis_server.url, decode_responses=True)
    client.flushall()
    yield client
    client.close()
