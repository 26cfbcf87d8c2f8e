"""Endpoints that are replaced while a job runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest
from tests.statefun.counting_functions import Counting, check_counts, counting_job
from tests.statefun.function_server import FunctionServer, function_server

from millrace.common import Configuration
from millrace.common.errors import JobControlError, JobDefinitionError, MillraceError
from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.endpoint_update import update_endpoints
from millrace.statefun.module.components import HttpEndpoint, Transport
from millrace.statefun.protocol import FromFunction
from millrace.statefun.types import INT, decoded, typed
from millrace.testing import CollectingSink

PATIENCE = 60.0
HANGS = Transport(call_ms=400)
ENDPOINT = '{"namespace": "test", "name": "*", "url_template": "http://127.0.0.1:1"'
MALFORMED = [
    ("what", "not a list of endpoints: JSON is malformed"),
    ("[1]", "not a list of endpoints: Expected `object`"),
    ('[{"namespace": "test", "name": "*"}]', "missing required field `url_template`"),
    (f"[{ENDPOINT}}}, {ENDPOINT}}}]", "two endpoints serve test/*"),
    (f'[{ENDPOINT}, "transport": {{"pool_size": 0}}}}]', "pool_size of a transport is a number fr"),
    (f'[{ENDPOINT}, "transport": {{"call_ms": -1}}}}]', "call_ms of a transport is a number from"),
    (f'[{ENDPOINT}, "max_num_batch_requests": 0}}]', "max_num_batch_requests of an endpoint is a"),
    (f'[{ENDPOINT}, "transport": {{"client_cert": "x"}}}}]', "set together: set both or neither"),
    (f"[{ENDPOINT}}}]".replace('"*"', '""'), "'test/' is not a type name"),
    (f"[{ENDPOINT}}}]".replace("http:", "ftp:"), "has no http or https URL"),
]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < deadline
        sleep(0.005)


def served(server: FunctionServer, more: int = 20) -> Callable[[], bool]:
    wanted = server.served + more
    return lambda: server.served >= wanted


def environment(**settings: str) -> Any:
    config = Configuration(settings)
    return StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)


@pytest.mark.turns(7)
def test_an_endpoint_is_replaced_under_load(running: Any) -> None:
    """Each server ends as soon as its successor has taken over. What it had not answered goes to
    the successor."""
    counting, sink = Counting(), CollectingSink[str]()
    with running():
        env = environment()
        server = FunctionServer(counting)
        counting_job(env, server.url, sink)
        client = env.execute_async("replaced")
        for _ in range(10):
            wait_until(served(server))
            former, server = server, FunctionServer(counting)
            update_endpoints(client, [HttpEndpoint("test", "*", server.url, 5)], "replaced")
            former.stop()
        wait_until(served(server))
        counting.is_over.set()
        client.get_job_execution_result().result(PATIENCE)
        server.stop()
    check_counts(sink.values())


@pytest.mark.turns(7)
@pytest.mark.parametrize("running", ["resident"], indirect=True)
def test_what_hangs_at_a_replaced_endpoint_goes_to_its_successor(running: Any) -> None:
    counting, sink, hang = Counting(), CollectingSink[str](), Event()

    def hanging(request: Any) -> Any:
        hang.wait(PATIENCE)
        return FromFunction()

    with running(), function_server(hanging) as stuck, function_server(counting) as server:
        env = environment()
        messages = env.from_collection([routable_message("test/feeder", "0", typed(INT, 0))])
        endpoint = HttpEndpoint("test", "*", stuck.url, 5, HANGS)
        (
            StatefulFunctionDataStreamBuilder.builder("replaced")
            .with_data_stream_as_ingress(messages)
            .with_request_reply_remote_function(endpoint)
            .with_egress_id("test/out")
            .build(env)
            .get_data_stream_for_egress_id("test/out")
            .map(decoded)
            .sink_to(sink)
        )
        counting.is_over.set()
        client = env.execute_async("replaced")
        update_endpoints(client, [HttpEndpoint("test", "*", server.url)], "replaced")
        client.get_job_execution_result().result(PATIENCE)
        hang.set()
    assert sink.values() == ["0 0 c0 1"]


@pytest.mark.turns(7)
def test_functions_are_added_and_have_endpoints_of_their_own(running: Any) -> None:
    counting, sink = Counting(), CollectingSink[str]()
    with running(), function_server(counting) as one, function_server(counting) as other:
        env = environment()
        counting_job(env, one.url, sink)
        client = env.execute_async("replaced")
        endpoints = [
            HttpEndpoint("test", "*", one.url, 5),
            HttpEndpoint("test", "collector", other.url + "/{function.name}"),
        ]
        wait_until(served(one))
        update_endpoints(client, endpoints, "replaced")
        wait_until(served(other))
        counting.is_over.set()
        client.get_job_execution_result().result(PATIENCE)
    check_counts(sink.values())


class Servers:
    """Servers with the same functions, by name."""

    def __init__(self, counting: Counting, names: str) -> None:
        self.by_name = {name: FunctionServer(counting) for name in names}

    def url(self, name: str) -> str:
        return self.by_name[name].url

    def next_serving(self) -> set[str]:
        """Names of the servers that serve the next 40 requests."""
        before = {name: server.served for name, server in self.by_name.items()}

        def more() -> dict[str, int]:
            return {name: s.served - before[name] for name, s in self.by_name.items()}

        wait_until(lambda: sum(more().values()) >= 40)
        return {name for name, served in more().items() if served}

    def stop(self) -> None:
        for server in self.by_name.values():
            server.stop()


@pytest.mark.turns(7)
@pytest.mark.parametrize("running", ["resident"], indirect=True)
@pytest.mark.parametrize(
    "starts",
    [
        ["a>b", "a=b", "c=c", "a=a"],
        ["a>b", "b=b", "a=a", "a>c", "a=c"],
        ["a>b", "c>b", "c=b", "a=a", "c=c"],
        ["a>b", "a>a", "a=a"],
    ],
    ids=" ".join,
)
def test_endpoints_that_count_after_savepoints(
    running: Any, starts: list[str], tmp_path: Path
) -> None:
    """Endpoints of an update count until the program has others. ``a>b`` starts a program with the
    endpoints ``a`` from the last savepoint and updates it to ``b``; ``a=b`` starts it, and ``b``
    counts."""
    counting, sink = Counting(), CollectingSink[str]()
    settings: dict[str, str] = {}
    servers = Servers(counting, "abc")
    with running():
        for number, (own, action, other) in enumerate(starts):
            env = environment(**settings)
            counting_job(env, servers.url(own), sink)
            client = env.execute_async("replaced")
            if action == ">":
                endpoint = HttpEndpoint("test", "*", servers.url(other), 5)
                update_endpoints(client, [endpoint], "replaced")
            wait_until(served(servers.by_name[other]))
            assert servers.next_serving() == {other}
            savepoint = client.stop_with_savepoint(False, str(tmp_path / str(number))).result()
            settings = {"execution.state-recovery.path": savepoint}
    servers.stop()
    check_counts(sink.values())


@pytest.mark.turns(7)
@pytest.mark.parametrize("running", ["resident"], indirect=True)
def test_a_list_of_endpoints_that_no_dispatcher_could_take_is_refused(running: Any) -> None:
    counting = Counting()
    operator = "statefun-replaced"
    with running(), function_server(counting) as server:
        env = environment()
        counting_job(env, server.url, CollectingSink())
        client = env.execute_async("replaced")
        for text, error in MALFORMED:
            with pytest.raises(JobDefinitionError, match=error):
                client.send_message(operator, text.encode()).result(PATIENCE)
        counting.is_over.set()
        client.get_job_execution_result().result(PATIENCE)


@pytest.mark.turns(7)
@pytest.mark.parametrize("running", ["resident"], indirect=True)
def test_subtasks_of_another_parallelism_have_the_new_endpoints(running: Any) -> None:
    counting, sink = Counting(), CollectingSink[str]()
    with running(), function_server(counting) as first, function_server(counting) as second:
        env = environment()
        counting_job(env, first.url, sink)
        client = env.execute_async("replaced")
        update_endpoints(client, [HttpEndpoint("test", "*", second.url, 5)], "replaced")
        wait_until(served(second))
        done = first.served
        client.rescale(3).result()
        wait_until(served(second))
        counting.is_over.set()
        client.get_job_execution_result().result(PATIENCE)
        assert first.served == done
    check_counts(sink.values(), in_order=False)


@pytest.mark.turns(7)
@pytest.mark.parametrize("running", ["resident"], indirect=True)
def test_a_function_without_an_endpoint_fails_until_it_is_given_one(running: Any) -> None:
    counting, sink = Counting(), CollectingSink[str]()
    counting.is_over.set()
    with running(), function_server(counting) as server:
        env = environment(
            **{
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "1000",
                "restart-strategy.fixed-delay.delay": "10 ms",
            }
        )
        counting_job(env, server.url, sink, "feeder")
        client = env.execute_async("replaced")
        wait_until(lambda: client.progress().restarts > 1)
        update_endpoints(client, [HttpEndpoint("test", "*", server.url)], "replaced")
        client.get_job_execution_result().result(PATIENCE)
    check_counts(sink.values())


@pytest.mark.turns(7)
def test_an_update_is_refused_by_name(running: Any) -> None:
    counting = Counting()
    endpoint = HttpEndpoint("test", "*", "http://127.0.0.1:1")
    with running(), function_server(counting) as server:
        env = environment()
        counting_job(env, server.url, CollectingSink())
        client = env.execute_async("replaced")
        with pytest.raises(JobControlError, match="no operator 'statefun-other' that takes mess"):
            update_endpoints(client, [endpoint], "other")
        with pytest.raises(MillraceError, match="two endpoints serve test/*"):
            update_endpoints(client, [endpoint, endpoint], "replaced")
        counting.is_over.set()
        client.get_job_execution_result().result(PATIENCE)
