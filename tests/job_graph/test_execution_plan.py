"""The plan of a job as data, in the form of Flink's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millrace.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment
from millrace.testing import run_local


class Both(CoMapFunction[int, str, object]):
    """Hands on what comes in."""

    def map1(self, value: int) -> object:
        return value

    def map2(self, value: str) -> object:
        return value


def plan(env: StreamExecutionEnvironment) -> dict[str, Any]:
    with run_local():
        found: dict[str, Any] = json.loads(env.get_execution_plan())
    return found


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def test_nodes_are_operators_with_predecessors(env: StreamExecutionEnvironment) -> None:
    """A node per operator, chained or not; stages name theirs."""
    numbers = env.from_collection([1]).uid("n").set_description("the numbers")
    numbers.key_by(lambda v: v).sum().uid("s").print().uid("p")
    found = plan(env)
    assert isinstance(found.pop("job"), str)
    assert found == {
        "nodes": [
            {
                "id": 1, "uid": "n", "type": "Source: Collection", "pact": "Data Source",
                "contents": "the numbers", "parallelism": 1,
            },
            {
                "id": 2, "uid": "s", "type": "Sum", "pact": "Operator", "contents": "Sum",
                "parallelism": 2,
                "predecessors": [{"id": 1, "ship_strategy": "HASH", "side": "second"}],
            },
            {
                "id": 3, "uid": "p", "type": "Sink: Print", "pact": "Data Sink",
                "contents": "Sink: Print", "parallelism": 2,
                "predecessors": [{"id": 2, "ship_strategy": "FORWARD", "side": "second"}],
            },
        ],
        "stages": [
            {"id": 0, "name": "Collection", "level": 0, "parallelism": 1, "nodes": [1]},
            {"id": 1, "name": "Sum -> Print", "level": 1, "parallelism": 2, "nodes": [2, 3]},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "strategy"),
    [
        ("rebalance", "REBALANCE"),
        ("rescale", "RESCALE"),
        ("shuffle", "SHUFFLE"),
        ("broadcast", "BROADCAST"),
        ("global_", "GLOBAL"),
    ],
)
def test_ship_strategies(env: StreamExecutionEnvironment, method: str, strategy: str) -> None:
    """With the names of Flink's plans."""
    stream: DataStream[int] = getattr(env.from_collection([1]).map(abs), method)()
    stream.map(abs).set_parallelism(3).print()
    (predecessor,) = plan(env)["nodes"][2]["predecessors"]
    assert predecessor["ship_strategy"] == strategy


def test_streams_of_another_parallelism_are_rebalanced(env: StreamExecutionEnvironment) -> None:
    """Where the program says nothing."""
    env.from_collection([1]).map(abs).set_parallelism(3).print()
    strategies = [n["predecessors"][0]["ship_strategy"] for n in plan(env)["nodes"][1:]]
    assert strategies == ["REBALANCE", "REBALANCE"]


def test_a_union_is_no_node(env: StreamExecutionEnvironment) -> None:
    """What follows it has several predecessors, as in Flink."""
    one, two = env.from_collection([1]), env.from_collection([2])
    one.union(two).map(abs).print()
    nodes = plan(env)["nodes"]
    sources = [node["id"] for node in nodes if node["pact"] == "Data Source"]
    assert [p["id"] for p in nodes[2]["predecessors"]] == sources


def test_connected_streams_have_sides(env: StreamExecutionEnvironment) -> None:
    """The second input is the other side."""
    one, two = env.from_collection([1]), env.from_collection(["a"])
    one.connect(two).map(Both()).print()
    node = next(n for n in plan(env)["nodes"] if len(n.get("predecessors", ())) == 2)
    assert [p["side"] for p in node["predecessors"]] == ["second", "first"]
