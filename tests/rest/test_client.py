"""The client, with what it makes of answers."""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from millrace.common import Types
from millrace.common.errors import StateError
from millrace.datastream import AggregateFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.rest import QueryableStateClient, QueryableStateError


def test_values_as_json(served) -> None:
    served.push(("a", 1), (("eu", dt.date(2026, 11, 21)), 2))
    client = served.client()
    assert client.get("remember", "last-value", "a") == 1
    assert client.get("remember", "last", ("eu", dt.date(2026, 11, 21)), job="MiniJob") == 2
    assert client.get_all("remember", "last-value", ["a", "b"]) == {"a": 1}
    assert [state["name"] for state in client.states()][:2] == ["last-value", "seen-values"]


@dataclass(frozen=True)
class Place:
    country: str | int | None
    number: int


DAY = dt.date(2026, 11, 21)


@pytest.mark.parametrize(
    "keys",
    [
        [Place(None, 1), Place("x", 2), Place(5, 3), Place("5", 4)],
        [(Place(None, 1),), (Place("x", 1),)],
        [frozenset(), frozenset({1, 2}), frozenset({"a", "b", "c"})],
        [tuple(None if n >> i & 1 else DAY for i in range(5)) for n in range(32)],
        [dt.timedelta(days=200_000, microseconds=1)],
        [1 + 2j, dt.datetime(2026, 1, 1, tzinfo=dt.UTC)],
    ],
    ids=["fields", "nested", "sets", "shapes", "timedelta", "odd"],
)
def test_whatever_keys_there_are_are_found(served, keys: list[Any]) -> None:
    """Also where nothing can be concluded from the first ones."""
    served.push(*[(key, number) for number, key in enumerate(keys)])
    found = served.client().get_all("remember", "last-value", keys)
    assert list(found.values()) == list(range(len(keys)))
    served.push((keys[0], None))
    with pytest.raises(QueryableStateError, match="there is no key"):
        served.client().get("remember", "last-value", keys[0])


@pytest.mark.parametrize(
    ("key", "others"),
    [("42", [42]), ('"abc"', ["abc"]), (1, ["true", "1"]), (True, ["true"]), ("null", [None])],
)
def test_keys_that_look_alike_are_not_taken_for_each_other(served, key, others) -> None:
    served.push((key, 1), ("other", 2))
    client = served.client()
    assert client.get("remember", "last-value", key) == 1
    for other in others:
        with pytest.raises(QueryableStateError, match="there is no key"):
            client.get("remember", "last-value", other)


def test_states_as_their_descriptors_say(served) -> None:
    """Under the names and with the methods of Flink."""
    served.push(("a", 1), ("a", 2))
    client, key_type = served.client(), Types.STRING()
    job = served.job.client.get_job_id()
    last = ValueStateDescriptor("last", Types.LONG())
    seen = ListStateDescriptor("seen", Types.LONG())
    times = MapStateDescriptor("times", Types.LONG(), Types.INT())
    assert client.get_kv_state(job, "last-value", "a", key_type, last).result().value() == 2
    assert client.get_kv_state(job, "seen-values", "a", key_type, seen).result().get() == [1, 2]
    found = client.get_kv_state(job, "times", "a", key_type, times).result()
    assert (dict(found.items()), found[1], 3 in found) == ({1: 1, 2: 1}, 1, False)
    with pytest.raises(StateError, match="cannot be changed"):
        found.put(1, 1)


def test_errors_say_what_is_unknown(served) -> None:
    served.push(("a", 1))
    client = served.client()
    with pytest.raises(
        QueryableStateError, match=r"no key '\"b\"' \(there are: \[\"a\"\]\)"
    ) as key:
        client.get("remember", "last-value", "b")
    assert (key.value.unknown, key.value.status, key.value.loading) == ("key", 404, False)
    last = ValueStateDescriptor("last")
    future = client.get_kv_state(None, "other", "a", None, last)
    with pytest.raises(QueryableStateError, match="no queryable state 'other'") as state:
        future.result()
    assert state.value.unknown == "state"


def test_a_wrong_token_and_a_closed_endpoint(serve) -> None:
    with serve() as served:
        served.push(("a", 1))
        client = served.client()
        assert client.get("remember", "last", "a") == 1
        host, port = client._host, client._port
        with pytest.raises(QueryableStateError, match="the token is missing or wrong") as refused:
            QueryableStateClient(host, port, "wrong").get("remember", "last", "a")
        assert refused.value.status == 401
    with pytest.raises(QueryableStateError, match=f"no answer from 127.0.0.1:{port}") as gone:
        client.get("remember", "last", "a")
    assert gone.value.status == 0
    client.shutdown_and_wait()


def test_a_connection_that_the_server_closed_is_made_anew(served) -> None:
    served.push(("a", 1))
    client = served.client()
    assert client.get("remember", "last", "a") == 1
    for connection in list(served.endpoint._server._http._server.server_state.connections):
        connection.loop.call_soon_threadsafe(connection.transport.abort)
    assert client.get("remember", "last", "a") == 1


def test_it_is_found_by_the_job_directory(serve, tmp_path) -> None:
    with serve() as served:
        served.push(("a", 1))
        client = QueryableStateClient.of_job(tmp_path / "checkpoints", "MiniJob")
        assert client.get("remember", "last", "a") == 1


def test_it_waits_for_the_job_to_start(serve, tmp_path) -> None:
    """As long as it was told to."""
    directory = tmp_path / "checkpoints"
    with pytest.raises(StateError, match="the job does not run"):
        QueryableStateClient.of_job(directory, "MiniJob", wait=0.01)
    found: list[QueryableStateClient] = []

    def find() -> None:
        found.append(QueryableStateClient.of_job(directory, "MiniJob", wait=30))

    waiting = threading.Thread(target=find)
    waiting.start()
    with serve() as served:
        served.push(("a", 1))
        waiting.join(30)
        assert found[0].get("remember", "last", "a") == 1
        same = QueryableStateClient.of_job(served.job.client.get_job_directory())
        assert same.get("remember", "last", "a") == 1


class Mean(AggregateFunction):
    def create_accumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        raise AssertionError


def test_reducing_and_aggregating_state(serve) -> None:
    """The accumulator of an aggregating state travels; the client's descriptor knows the rest."""
    from millrace.rest.immutable_states import immutable_state

    mean = AggregatingStateDescriptor("mean", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()]))
    assert immutable_state(mean, (6, 4)).get() == 1.5
    total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
    assert immutable_state(total, 7).get() == 7
