"""Programs of Flink's Python SDK between streams, embedded and over HTTP."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.common.time.amounts import Duration
from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.data_stream import (
    RequestReplyFunctionBuilder,
    StatefulFunctionDataStreamBuilder,
    routable_message,
)
from millrace.statefun.types import STRING, decoded, typed
from millrace.testing import Faults, ManualClock, run_local

pytest.importorskip("statefun")
Builder = StatefulFunctionDataStreamBuilder
With = Callable[[Builder], Builder]


def sdk_functions() -> Any:
    path = Path(__file__).parent / "greeter_functions.py"
    spec = importlib.util.spec_from_file_location("greeter_functions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.functions


@pytest.fixture(params=["embedded", "remote"])
def with_functions(request: pytest.FixtureRequest) -> With:
    """Adds the same functions, embedded or in a process of their own."""
    if request.param == "embedded":
        functions = sdk_functions()
        return lambda builder: builder.with_function_provider("test/*", functions, 8)
    url = request.getfixturevalue("greeter_url")
    endpoint = RequestReplyFunctionBuilder("test/*", url + "/{function.name}")
    endpoint.with_max_num_batch_requests(8).with_max_request_duration(Duration.of_seconds(30))
    return lambda builder: builder.with_request_reply_remote_function(endpoint)


def outputs(messages: list[tuple[str, str, str]], add: With, parallelism: int = 1) -> list[str]:
    """Texts that the functions write, given messages as (function, id, text)."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    ingress = env.from_collection(messages).map(
        lambda m: routable_message(f"test/{m[0]}", m[1], typed(STRING, m[2]))
    )
    builder = add(Builder.builder("test").with_data_stream_as_ingress(ingress))
    egresses = builder.with_egress_id("test/out").build(env)
    return list(
        egresses.get_data_stream_for_egress_id("test/out").map(decoded).execute_and_collect()
    )


def test_states_are_kept_per_address_and_messages_keep_their_order(
    with_functions: With, running: Any
) -> None:
    messages = [("greeter", id, f"m{n}") for n in range(20) for id in ("a", "b")]
    with running():
        texts = outputs(messages, with_functions)
    for id in ("a", "b"):
        own = [text for text in texts if text.startswith(id)]
        expected = [f"{id} m{n} {n + 1} {f'm{n - 1}' if n else None} -" for n in range(20)]
        assert own == expected


RELAYED = [("relay", f"r{n % 2}", f"g{n % 3} m{n}") for n in range(30)]


@pytest.mark.parametrize("parallelism", [1, 3])
def test_messages_between_functions_keep_their_order(
    with_functions: With, running: Any, parallelism: int
) -> None:
    with running():
        check_relayed(outputs(RELAYED, with_functions, parallelism))


@pytest.mark.parametrize("parallelism", [1, 3])
def test_messages_between_functions_survive_failures(
    with_functions: With, parallelism: int
) -> None:
    faults = Faults(0.2, 0.3, 0.2, 0.1)
    with run_local(workers=2, seed=3, faults=faults, epoch_records=10):
        check_relayed(outputs(RELAYED, with_functions, parallelism))


def check_relayed(texts: list[str]) -> None:
    """Check that each greeter has all messages, and those of each relay in order."""
    assert len(texts) == 30
    for target in range(3):
        for relay in range(2):
            own = [text.split() for text in texts if text.startswith(f"g{target} ")]
            sent = [int(words[1][1:]) for words in own if words[4] == f"r{relay}"]
            assert sent == [n for n in range(30) if n % 2 == relay and n % 3 == target]
        assert sorted(int(words[2]) for words in own) == list(range(1, 11))


@pytest.mark.parametrize("faults", [Faults(), Faults(0.2, 0.3)])
def test_delayed_messages_come_in_time_and_can_be_cancelled(
    with_functions: With, faults: Faults
) -> None:
    clock = ManualClock()
    messages = [("alarm", "a", t) for t in ("5000 late", "9000 never", "100 soon", "cancel never")]
    with run_local(clock=clock, seed=1, faults=faults, epoch_records=1):
        texts = outputs(messages, with_functions)
    assert [text.split()[1] for text in texts] == ["soon", "late"]
    assert clock.now() >= 5000


@pytest.mark.parametrize(
    ("function", "word", "message"),
    [
        ("faulty", "egress", "function test/faulty/1 wrote to the egress test/none"),
        ("faulty", "function", "a message to gone/function/1 has no function"),
    ],
)
def test_what_is_unknown_fails_the_job(
    with_functions: With, running: Any, function: str, word: str, message: str
) -> None:
    with running(), pytest.raises(MillraceError, match=message):
        outputs([(function, "1", word)], with_functions)


def test_an_error_of_an_embedded_function_names_its_address() -> None:
    functions = sdk_functions()
    with run_local(), pytest.raises(MillraceError, match=r"test/faulty/1 raised ValueError: on p"):
        outputs([("faulty", "1", "raise")], lambda b: b.with_function_provider("test/*", functions))


def test_an_error_of_a_remote_function_names_its_endpoint(greeter_url: str) -> None:
    endpoint = RequestReplyFunctionBuilder("test/*", greeter_url + "/x")
    endpoint.with_max_request_duration(200)
    with (
        run_local(),
        pytest.raises(MillraceError, match=r"test/faulty/1 at http://.*/x failed for"),
    ):
        outputs(
            [("faulty", "1", "raise")], lambda b: b.with_request_reply_remote_function(endpoint)
        )


def test_a_builder_needs_an_ingress_and_a_function() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError, match="need an ingress and a function"):
        Builder.builder("empty").build(env)
    with pytest.raises(JobDefinitionError, match="is named twice"):
        Builder.builder("x").with_egress_id("a/b").with_egress_id("a/b")
    with pytest.raises(JobDefinitionError, match="is not a StatefulFunctions"):
        Builder.builder("x").with_function_provider("a/b", object())
    with pytest.raises(JobDefinitionError, match="at least 1"):
        RequestReplyFunctionBuilder("a/b", "http://x").with_max_num_batch_requests(0)
