"""The Redis sink: what it writes, what it refuses, and what it says when a server is not well."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from redis_server import RedisServer

from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.functions.output_tag import OutputTag
from millrace.common.sink import CommitRequest, CommitState, CommitterContext, DeliveryGuarantee
from millrace.connectors.redis import (
    RedisError,
    RedisMapper,
    RedisSink,
    RedisSinkBuilder,
    RedisUnavailableError,
)
from millrace.connectors.redis.transaction_committer import mark_key

COUNT = RedisMapper.increment("count", lambda record: record)


def at_least_once(url: str, mapper: RedisMapper = COUNT) -> RedisSinkBuilder:
    return RedisSink.builder().set_url(url).set_mapper(mapper)


def exactly_once(url: str, mapper: RedisMapper = COUNT) -> RedisSinkBuilder:
    builder = at_least_once(url, mapper).set_sink_id("tests")
    return builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)


def commit(sink: RedisSink, committables: list[Any]) -> list[CommitState]:
    committer = sink.create_committer(CommitterContext())
    assert committer is not None
    requests = [CommitRequest(item) for item in committables]
    committer.commit(requests)
    committer.close()
    return [request.state for request in requests]


def test_at_least_once_writes_at_once(
    redis_server: RedisServer, redis: Any, sink_harness: Any
) -> None:
    harness = sink_harness(at_least_once(redis_server.url).set_pipeline_size(2).build())
    assert harness.write_epoch([1, 2, 3, 4, 5]) == []
    assert redis.get("count") == "15"


def test_exactly_once_writes_with_the_checkpoint(
    redis_server: RedisServer, redis: Any, sink_harness: Any
) -> None:
    harness = sink_harness(exactly_once(redis_server.url).build())
    harness.write_epoch([1, 2])
    harness.write_epoch([3], subtask=1)
    assert redis.get("count") is None
    harness.commit()
    assert redis.get("count") == "6"
    assert harness.write_epoch([]) == []


def test_a_repeated_commit_is_recognised(
    redis_server: RedisServer, redis: Any, sink_harness: Any
) -> None:
    """As a whole or in part: of two epochs, the second is new. Another run's is, too."""
    sink = exactly_once(redis_server.url).build()
    harness = sink_harness(sink)
    first, second = harness.write_epoch([1]), harness.write_epoch([2])
    assert commit(sink, first) == [CommitState.RECEIVED]
    assert commit(sink, first + second) == [CommitState.ALREADY_COMMITTED, CommitState.RECEIVED]
    assert commit(sink, first + second) == [CommitState.ALREADY_COMMITTED] * 2
    assert redis.get("count") == "3"
    fork = sink_harness(sink, "another run")
    assert commit(sink, fork.write_epoch([10])) == [CommitState.RECEIVED]
    assert redis.get("count") == "13"


def test_two_drivers_commit_once(
    redis_server: RedisServer, redis: Any, sink_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one has committed between this one's look at the mark and its transaction."""
    from millrace.connectors.redis import transaction_committer

    sink = exactly_once(redis_server.url).build()
    staged = sink_harness(sink).write_epoch([5])
    others = []

    def interrupted(name: str) -> None:
        if name == "before-redis-exec" and not others:
            others.append(None)
            others.append(commit(sink, staged))

    monkeypatch.setattr(transaction_committer, "crash_point", interrupted)
    assert commit(sink, staged) == [CommitState.ALREADY_COMMITTED]
    assert others[1] == [CommitState.RECEIVED]
    assert redis.get("count") == "5"


def mixed(record: Any) -> tuple[Any, ...]:
    """Commands the server does not know, cannot carry out, and can."""
    return {"unknown": ("NOSUCH", "key"), "wrong": ("INCRBY", "text", 1)}.get(
        record, ("INCRBY", "count", 1)
    )


@pytest.mark.parametrize("guarantee", [at_least_once, exactly_once])
def test_refused_commands_are_left_out_or_fail_the_job(
    guarantee: Any, redis_server: RedisServer, redis: Any, sink_harness: Any
) -> None:
    redis.set("text", "secret text")
    builder = guarantee(redis_server.url, RedisMapper.of(mixed))
    records = ["good", "unknown", "wrong", "good"]
    failing = sink_harness(builder.build())
    with pytest.raises(RedisError, match=r"Redis refused '(NOSUCH key|INCRBY text)'") as refused:
        failing.run_epoch(records)
    assert "ErrorPolicy.skip()" in str(refused.value)
    redis.delete("count")
    going_on = sink_harness(builder.set_error_policy(ErrorPolicy.skip()).build(), "other")
    going_on.run_epoch(records)
    assert redis.get("count") == "2"


def test_a_command_that_fails_in_the_transaction_is_told_once(
    redis_server: RedisServer, redis: Any, sink_harness: Any
) -> None:
    """The rest was carried out, and stays so when the job is resumed."""
    redis.set("text", "text")
    sink = exactly_once(redis_server.url, RedisMapper.of(mixed)).build()
    staged = sink_harness(sink).write_epoch(["good", "wrong", "good"])
    with pytest.raises(RedisError, match=r"not an integer.*The rest of the checkpoint is written"):
        commit(sink, staged)
    assert commit(sink, staged) == [CommitState.ALREADY_COMMITTED]
    assert redis.get("count") == "2"


@pytest.mark.parametrize("guarantee", [at_least_once, exactly_once])
def test_numbers_of_more_than_64_bits_are_texts(
    guarantee: Any, redis_server: RedisServer, redis: Any, sink_harness: Any
) -> None:
    mapper = RedisMapper.set_value(lambda n: f"number-{n % 3}", lambda n: n)
    numbers = [2**70, -(2**70), 1 << 64, 5]
    harness = sink_harness(guarantee(redis_server.url, mapper).build())
    harness.run_epoch(numbers)
    expected = {f"number-{n % 3}": str(n) for n in numbers}
    assert {key: redis.get(key) for key in expected} == expected


@pytest.mark.parametrize("guarantee", [at_least_once, exactly_once])
@pytest.mark.parametrize(
    "value", [None, True, {"a": 1}, [1], np.float64(1.5), IntEnum("Size", "S")(1)]
)
def test_values_that_redis_cannot_store(
    guarantee: Any, value: Any, redis_server: RedisServer, sink_harness: Any
) -> None:
    mapper = RedisMapper.set_value("key", lambda record: value)
    harness = sink_harness(guarantee(redis_server.url, mapper).build())
    with pytest.raises(RedisError, match=f"'SET key' has a {type(value).__name__} among"):
        harness.write_epoch(["record"])


def test_what_is_no_command(redis_server: RedisServer, sink_harness: Any) -> None:
    harness = sink_harness(
        at_least_once(redis_server.url, RedisMapper.of(lambda r: ["SET"])).build()
    )
    with pytest.raises(RedisError, match="a Redis command is a tuple .* not a str"):
        harness.write_epoch(["record"])


@pytest.mark.parametrize("guarantee", [at_least_once, exactly_once])
def test_a_full_server_is_waited_for(
    guarantee: Any, redis_server: RedisServer, redis: Any, sink_harness: Any
) -> None:
    """Nothing of a transaction is carried out; later it is."""
    sink = guarantee(redis_server.url).build()
    harness = sink_harness(sink)
    redis.config_set("maxmemory", "1")
    try:
        with pytest.raises((RedisUnavailableError, ConnectionError), match="maxmemory"):
            harness.run_epoch([1])
    finally:
        redis.config_set("maxmemory", "0")
    assert redis.get("count") is None
    if guarantee is exactly_once:
        harness.commit()
        assert redis.get("count") == "1"


@pytest.mark.parametrize("guarantee", [at_least_once, exactly_once])
def test_a_restarted_server_has_what_was_written(
    guarantee: Any, redis_server: RedisServer, redis: Any, sink_harness: Any
) -> None:
    harness = sink_harness(guarantee(redis_server.url).build())
    harness.run_epoch([1])
    redis_server.restart()
    harness.run_epoch([2])
    assert redis.get("count") == "3"


def test_a_server_that_is_not_there_is_named_without_its_password(sink_harness: Any) -> None:
    url = "redis://someone:hidden-word@127.0.0.1:1/0?socket_connect_timeout=1"
    assert repr(at_least_once(url).build()) == "RedisSink(redis://127.0.0.1:1/0)"
    with pytest.raises(RedisUnavailableError, match="redis://127.0.0.1:1/0") as refused:
        sink_harness(at_least_once(url).build()).write_epoch([1])
    assert "hidden-word" not in str(refused.value)
    harness = sink_harness(exactly_once(url).build())
    with pytest.raises(ConnectionError, match="cannot write to Redis at redis://127.0.0.1:1/0"):
        harness.run_epoch([1])  # no error of millrace's own, so that the engine tries again


def test_a_wrong_password(redis_server: RedisServer, redis: Any, sink_harness: Any) -> None:
    url = redis_server.url.replace("//", "//default:hidden-word@")
    redis.config_set("requirepass", "right")
    try:
        with pytest.raises(RedisError, match="refuses user or password") as refused:
            sink_harness(at_least_once(url).build()).write_epoch([1])
        assert "hidden-word" not in str(refused.value)
        with pytest.raises(RedisError, match="refuses user or password"):
            sink_harness(exactly_once(url).build()).run_epoch([1])
    finally:
        redis.config_set("requirepass", "")


def test_a_foreign_mark(redis_server: RedisServer, redis: Any, sink_harness: Any) -> None:
    redis.set(mark_key("tests"), "something else")
    with pytest.raises(RedisError, match="is not a commit mark of a Redis sink"):
        sink_harness(exactly_once(redis_server.url).build()).run_epoch([1])
    redis.delete(mark_key("tests"))
    redis.lpush(mark_key("tests"), "something else")
    with pytest.raises(RedisError, match="WRONGTYPE"):
        sink_harness(exactly_once(redis_server.url).build()).run_epoch([1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: b.set_mapper(COUNT).build(), r"needs set_url\(\)"),
        (lambda b: b.set_url("redis://host").build(), r"needs set_mapper\(\)"),
        (lambda b: b.set_url("localhost:6379"), "the URL of a Redis server is"),
        (lambda b: b.set_url("redis://"), "the URL of a Redis server is"),
        (lambda b: b.set_mapper(lambda record: ("SET", "a", 1)), "takes a RedisMapper"),
        (lambda b: b.set_delivery_guarantee("exactly-once"), "takes a DeliveryGuarantee"),
        (lambda b: b.set_sink_id(""), r"set_sink_id\(\) takes a text"),
        (lambda b: b.set_pipeline_size(0), "at least 1 command"),
        (
            lambda b: b.set_error_policy(ErrorPolicy.side_output(OutputTag("dead"))),
            "a sink has no side output",
        ),
        (
            lambda b: (
                b.set_url("redis://host")
                .set_mapper(COUNT)
                .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
                .build()
            ),
            r"needs set_sink_id\(\) for exactly-once",
        ),
    ],
)
def test_sinks_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        make(RedisSink.builder())


def test_two_sinks_of_a_job_cannot_share_a_mark() -> None:
    url = "redis://host"
    assert exactly_once(url).build().exclusive_id == "Redis sink id 'tests'"
    assert at_least_once(url).build().exclusive_id is None


@pytest.mark.parametrize(
    "url",
    [
        "redis://ada:sec/ret@host", "redis://:sec?ret@host", "redis://:sec#ret@host/0",
        "redis://:1/secret@host", "rediss://:[secret@host", "redis+cluster://:1/secret@a,b",
        "ada:secret@host:6379",
    ],
)  # fmt: skip
def test_urls_whose_password_cannot_be_told_apart(url: str) -> None:
    """Nothing of it is shown."""
    with pytest.raises(JobDefinitionError, match="the URL of a Redis server") as refused:
        RedisSink.builder().set_url(url)
    assert "sec" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    "url",
    [
        "redis://:p%2Fw@[::1]:6379/0?client_name=a%40b", "unix:///run/redis.sock", "redis://:p@w@h",
        "redis+sentinel://u:p@a:26379,b:26379/name/0", "rediss+cluster://a:6379,b",
    ],
)  # fmt: skip
def test_urls_that_are_taken(url: str) -> None:
    RedisSink.builder().set_url(url)
