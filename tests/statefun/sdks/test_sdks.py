"""The SDKs of other languages, unmodified, each in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.address import TypedValue
from millrace.statefun.data_stream import (
    RequestReplyFunctionBuilder,
    StatefulFunctionDataStreamBuilder,
    routable_message,
)
from millrace.statefun.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, decoded, typed
from millrace.testing import Faults, ManualClock, run_local

JSON = "test/json"
LANGUAGES = [
    "python",
    "javascript",
    # their tool chains are large: `make test` does without them
    pytest.param("go", marks=pytest.mark.connectors),
    pytest.param("java", marks=pytest.mark.connectors),
]
Sent = tuple[str, str, TypedValue]
"""Function, id and argument of a message."""


@pytest.fixture(params=LANGUAGES)
def url(request: pytest.FixtureRequest) -> str:
    """URL of the functions in one of the languages."""
    server = request.getfixturevalue(f"{request.param}_functions")
    return f"{server.url}/functions/{{function.name}}"


def outputs(url: str, messages: Sequence[Sent], parallelism: int = 1) -> list[TypedValue]:
    """Values that functions write, given messages."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    ingress = env.from_collection(list(messages)).map(
        lambda m: routable_message(f"test/{m[0]}", m[1], m[2])
    )
    builder = StatefulFunctionDataStreamBuilder.builder("sdk").with_data_stream_as_ingress(ingress)
    endpoint = RequestReplyFunctionBuilder("test/*", url).with_max_num_batch_requests(8)
    builder.with_request_reply_remote_function(endpoint)
    egresses = builder.with_egress_id("test/out").build(env)
    return list(egresses.get_data_stream_for_egress_id("test/out").execute_and_collect())


def texts(url: str, messages: Sequence[tuple[str, str, str]], parallelism: int = 1) -> list[Any]:
    """Texts that functions write, given messages with texts."""
    sent = [(function, id, typed(STRING, text)) for function, id, text in messages]
    return [decoded(value) for value in outputs(url, sent, parallelism)]


def test_states_are_kept_per_address_and_messages_keep_their_order(url: str, running: Any) -> None:
    with running():
        written = texts(url, [("greeter", id, f"m{n}") for n in range(20) for id in ("a", "b")])
    for id in ("a", "b"):
        own = [text for text in written if text.startswith(id)]
        assert own == [f"{id} m{n} {n + 1} {f'm{n - 1}' if n else None} -" for n in range(20)]


@pytest.mark.turns(7)
@pytest.mark.parametrize("faults", [Faults(), Faults(0.2, 0.3, 0.2, 0.1)], ids=["no", "faults"])
def test_messages_between_functions_keep_their_order(url: str, faults: Faults) -> None:
    messages = [("relay", f"r{n % 2}", f"g{n % 3} m{n}") for n in range(30)]
    with run_local(workers=2, seed=3, faults=faults, epoch_records=10):
        written = texts(url, messages, parallelism=3)
    assert len(written) == 30
    for target in range(3):
        own = [text.split() for text in written if text.startswith(f"g{target} ")]
        assert sorted(int(words[2]) for words in own) == list(range(1, 11))
        for relay in range(2):
            sent = [int(words[1][1:]) for words in own if words[4] == f"r{relay}"]
            assert sent == [n for n in range(30) if n % 2 == relay and n % 3 == target]


def test_delayed_messages_come_in_time_and_can_be_cancelled(url: str) -> None:
    clock = ManualClock()
    messages = [("alarm", "a", t) for t in ("5000 late", "9000 never", "100 soon", "cancel never")]
    with run_local(clock=clock, seed=1, epoch_records=1):
        written = texts(url, messages)
    assert [text.split()[1] for text in written] == ["soon", "late"]
    assert clock.now() >= 5000


def test_states_expire(url: str) -> None:
    words = ("8000 read", "16000 write", "17000 read", "30000 read")
    messages = [("short", "a", text) for text in ("write", *words)]
    with run_local(clock=ManualClock(), seed=1, epoch_records=1):
        written = texts(url, messages)
    # `written` is dead at 16 s; `called` lives, because it was called at 8 s
    assert written == ["write 1 1", "read 1 1", "write 1 2", "read 1 2", "read None None"]


BUILT_IN = {
    BOOLEAN: [True, False],
    INT: [0, 1, -1, 2**31 - 1, -(2**31)],
    LONG: [0, 1, -1, 2**63 - 1, -(2**63)],
    FLOAT: [0.0, -1.5, 3.0000000544e38],
    DOUBLE: [0.0, 0.1, -1e308, 5e-324],
    STRING: ["", "Grüße 🌾", "x" * 100_000],
}


def test_values_of_all_types_go_there_and_back(url: str) -> None:
    document = {"list": [1, 2.5, "ä"], "nothing": None, "object": {}}
    for typename, values in (*BUILT_IN.items(), (JSON, [document, [], {}])):
        encoded = [
            typed(typename, json.dumps(value).encode() if typename == JSON else value)
            for value in values
        ]
        with run_local(seed=1):
            written = outputs(url, [("types", "a", value) for value in encoded])
        assert {value.typename for value in written} == {typename}
        read = [json.loads(v.value) if typename == JSON else decoded(v) for v in written]
        former = zip(values, [None, *values[:-1]], strict=True)
        expected = [each for value, last in former for each in (last, value)][1:]
        assert read == (pytest.approx(expected) if typename == FLOAT else expected)


def test_states_can_be_removed(url: str) -> None:
    one, forget = typed(INT, 1), typed(STRING, "forget")
    with run_local(seed=1):
        written = outputs(url, [("types", "a", value) for value in (one, forget, one, one)])
    assert written == [one, one, one, one]
