"""Redis as a sink, through the package redis."""

from __future__ import annotations

from millrace.connectors.redis.client import RedisError, RedisUnavailableError
from millrace.connectors.redis.mapper import RedisMapper
from millrace.connectors.redis.sink import RedisSink, RedisSinkBuilder

__all__ = [
    "RedisError",
    "RedisMapper",
    "RedisSink",
    "RedisSinkBuilder",
    "RedisUnavailableError",
]
