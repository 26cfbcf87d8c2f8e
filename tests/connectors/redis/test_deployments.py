"""The Redis sink with a cluster, behind a sentinel and with TLS."""

from __future__ import annotations

from typing import Any

import pytest
from redis_deployments import RedisCluster, RedisSentinel, RedisWithTls
from running import fixture_of

from millrace.common.sink import DeliveryGuarantee
from millrace.connectors.redis import RedisError, RedisMapper, RedisSink
from millrace.connectors.redis.client import RedisClient

pytestmark = pytest.mark.connectors


cluster = fixture_of(RedisCluster, "module")
sentinel = fixture_of(RedisSentinel, "module")
with_tls = fixture_of(RedisWithTls, "module")


def read(url: str, keys: list[str]) -> list[Any]:
    client = RedisClient(url)
    answers = client.run([("GET", key) for key in keys])
    client.close()
    return [None if answer is None else int(answer) for answer in answers]


def sink(url: str, mapper: RedisMapper, sink_id: str | None = None) -> RedisSink:
    builder = RedisSink.builder().set_url(url).set_mapper(mapper)
    if sink_id is not None:
        builder.set_sink_id(sink_id).set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    return builder.build()


def test_pipelines_reach_all_nodes_of_a_cluster(cluster: RedisCluster, sink_harness: Any) -> None:
    mapper = RedisMapper.set_value(lambda n: f"key-{n}", lambda n: n)
    sink_harness(sink(cluster.url, mapper)).run_epoch(list(range(3_000)))
    assert read(cluster.url, [f"key-{n}" for n in range(3_000)]) == list(range(3_000))


def test_exactly_once_in_one_slot_of_a_cluster(cluster: RedisCluster, sink_harness: Any) -> None:
    mapper = RedisMapper.increment(lambda n: f"{{shop}}:{n % 2}", lambda n: n)
    harness = sink_harness(sink(cluster.url, mapper, "{shop}-sums"))
    staged = harness.write_epoch([1, 2, 3])
    harness.commit()
    harness.committables = staged
    harness.commit()
    assert read(cluster.url, ["{shop}:0", "{shop}:1"]) == [2, 4]


def test_exactly_once_in_several_slots_of_a_cluster_is_refused(
    cluster: RedisCluster, sink_harness: Any
) -> None:
    mapper = RedisMapper.increment(lambda n: f"any-{n}", lambda n: n)
    harness = sink_harness(sink(cluster.url, mapper, "{shop}-any"))
    with pytest.raises(RedisError, match=r"hash tag"):
        harness.run_epoch([1, 2, 3])
    assert read(cluster.url, ["any-1", "any-2", "any-3"]) == [None] * 3


@pytest.mark.parametrize("sink_id", [None, "sums"])
def test_a_failover_behind_a_sentinel(
    sentinel: RedisSentinel, sink_harness: Any, sink_id: str | None
) -> None:
    key = f"sum-{sink_id}"
    harness = sink_harness(sink(sentinel.url, RedisMapper.increment(key, lambda n: n), sink_id))
    harness.run_epoch([1, 2])
    if sink_id is not None:
        sentinel.fail_over()
        harness.run_epoch([3])
        assert read(sentinel.url, [key]) == [6]


@pytest.mark.parametrize("sink_id", [None, "sums"])
def test_tls(with_tls: RedisWithTls, sink_harness: Any, sink_id: str | None) -> None:
    key = f"sum-{sink_id}"
    mapper = RedisMapper.increment(key, lambda n: n)
    sink_harness(sink(with_tls.url, mapper, sink_id)).run_epoch([1, 2])
    assert read(with_tls.url, [key]) == [3]
    untrusted = with_tls.url.partition("?")[0]
    with pytest.raises((RedisError, ConnectionError), match="certificate verify failed"):
        sink_harness(sink(untrusted, mapper, sink_id)).run_epoch([1])
