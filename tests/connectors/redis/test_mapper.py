"""Mappers: the commands of a batch, on a real server and against a naive model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis_server import RedisServer

from millrace.common import Duration, Row, RowKind
from millrace.common.errors import JobDefinitionError
from millrace.connectors.redis import RedisError, RedisMapper
from millrace.connectors.redis.client import RedisClient

KINDS = (RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.UPDATE_BEFORE, RowKind.DELETE)
CHANGES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from("ab"), st.integers(-9, 9)), max_size=30
)


def rows(changes: list[tuple[RowKind, str, int]]) -> list[Row]:
    return [Row.of_kind(kind, key, number) for kind, key, number in changes]


def test_every_kind_of_mapper_on_the_server(redis_server: RedisServer, redis: Any) -> None:
    record = ("ada", 5)
    mappers = [
        RedisMapper.set_value(lambda r: f"value:{r[0]}", lambda r: r[1]),
        RedisMapper.set_value("short", lambda r: r[1], Duration.of_minutes(1)),
        RedisMapper.set_fields("fields", lambda r: {"name": r[0], "n": r[1]}),
        RedisMapper.set_fields("brief", lambda r: {"n": r[1]}, Duration.of_minutes(1)),
        RedisMapper.set_field("field", lambda r: r[0], lambda r: r[1]),
        RedisMapper.add_to_set("set", lambda r: r[0]),
        RedisMapper.add_to_sorted_set("sorted", lambda r: r[0], lambda r: r[1]),
        RedisMapper.push("list", lambda r: r[1], max_length=2),
        RedisMapper.add_to_stream("stream", lambda r: {"n": r[1]}, max_length=100),
        RedisMapper.publish("channel", lambda r: r[0]),
        RedisMapper.increment("number", lambda r: r[1]),
        RedisMapper.increment("sums", lambda r: r[1] / 2, field=lambda r: r[0]),
        RedisMapper.of(lambda r: ("PFADD", "people", r[0])),
        RedisMapper.of(lambda r: [("SET", "one", 1), ("SET", "two", 2)]),
    ]
    listener = redis.pubsub(ignore_subscribe_messages=True)
    listener.subscribe("channel")
    listener.get_message(timeout=60)
    client = RedisClient(redis_server.url)
    for mapper in mappers:
        answers = client.run(mapper.commands([record] * 3))
        assert not [answer for answer in answers if isinstance(answer, Exception)]
    client.close()
    assert redis.get("value:ada") == redis.get("short") == "5"
    assert 0 < redis.ttl("short") <= 60
    assert 0 < redis.ttl("brief") <= 60
    assert redis.ttl("fields") == -1
    assert redis.hgetall("fields") == {"name": "ada", "n": "5"}
    assert redis.hgetall("field") == {"ada": "5"}
    assert redis.smembers("set") == {"ada"}
    assert redis.zrange("sorted", 0, -1, withscores=True)[0][1] == 5.0
    assert redis.lrange("list", 0, -1) == ["5", "5"]
    assert [fields for _, fields in redis.xrange("stream")] == [{"n": "5"}] * 3
    assert listener.get_message(timeout=60)["data"] == "ada"
    assert redis.get("number") == "15"
    assert redis.hget("sums", "ada") == "7.5"
    assert redis.pfcount("people") == 1
    assert redis.mget("one", "two") == ["1", "2"]
    listener.close()


@given(CHANGES)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changes_leave_the_table_that_they_describe(
    redis_server: RedisServer, redis: Any, changes: list[tuple[RowKind, str, int]]
) -> None:
    """Each key has what was written last, if it was not deleted, and no row before an update that
    no row follows; sums count both sides."""
    redis.flushdb()
    table: dict[str, str] = {}
    replaced: set[str] = set()
    total = 0
    for kind, key, number in changes:
        if kind is RowKind.UPDATE_BEFORE:
            replaced.add(key)
        else:
            replaced.discard(key)
        if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            table[key] = str(number)
        elif kind is RowKind.DELETE:
            table.pop(key, None)
        total += -number if kind in (RowKind.DELETE, RowKind.UPDATE_BEFORE) else number
    table = {key: text for key, text in table.items() if key not in replaced}
    commands = []
    for mapper in (
        RedisMapper.set_value(lambda r: r[0], lambda r: r[1]),
        RedisMapper.set_field("hash", lambda r: r[0], lambda r: r[1]),
        RedisMapper.set_fields(lambda r: f"hash-{r[0]}", lambda r: {"n": r[1]}),
        RedisMapper.add_to_sorted_set("sorted", lambda r: r[0], lambda r: r[1]),
        RedisMapper.add_to_set("set", lambda r: r[0]),
        RedisMapper.increment("sum", lambda r: r[1]),
    ):
        commands += mapper.commands(rows(changes))
    client = RedisClient(redis_server.url)
    client.run(commands)
    client.close()
    assert {key: redis.get(key) for key in "ab" if redis.exists(key)} == table
    assert redis.hgetall("hash") == table
    assert {key: redis.hget(f"hash-{key}", "n") for key in table} == table
    assert {m: str(int(s)) for m, s in redis.zrange("sorted", 0, -1, withscores=True)} == table
    assert redis.smembers("set") == set(table)
    assert int(redis.get("sum") or 0) == total


@pytest.mark.parametrize(
    "mapper",
    [
        RedisMapper.push("list", str),
        RedisMapper.publish("channel", str),
        RedisMapper.add_to_stream("stream", lambda r: {"r": str(r)}),
    ],
)
def test_what_cannot_be_taken_back_says_so(mapper: RedisMapper) -> None:
    with pytest.raises(RedisError, match="cannot take back a row of kind DELETE: filter"):
        mapper.commands([Row.of_kind(RowKind.DELETE, 1)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RedisMapper.set_value(5, str), "a key must be a text or a function"),  # type: ignore[arg-type]
        (lambda: RedisMapper.set_value("k", str, 5), "ttl must be a Duration above 0"),  # type: ignore[arg-type]
        (lambda: RedisMapper.set_value("k", str, Duration.of_nanos(1)), "a Duration above 0"),
        (lambda: RedisMapper.push("k", str, 0), "max_length must be a number from 1 on"),
        (lambda: RedisMapper.of("SET"), "takes a function"),  # type: ignore[arg-type]
    ],
)
def test_mappers_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        make()
