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
from millrace.common.errors import JobControlError, MillraceError
from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.endpoint_update import update_endpoints
from millrace.statefun.module.components import HttpEndpoint, Transport
from millrace.statefun.protocol import FromFunction
from millrace.statefun.types import INT, decoded, typed
from millrace.testing import CollectingSink

PATIENCE = 60.0
HANGS = Transport(call_ms=400)


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


@pytest.mark.parametrize("running", ["resident"], indirect=True)
def test_new_endpoints_are_part_of_a_savepoint(running: Any, tmp_path: Path) -> None:
    """The job goes on with the endpoints of the update. A job that begins with other endpoints
    than before has those."""
    counting, sink = Counting(), CollectingSink[str]()
    with running(), function_server(counting) as first, function_server(counting) as second:
        env = environment()
        counting_job(env, first.url, sink)
        client = env.execute_async("replaced")
        wait_until(served(first))
        update_endpoints(client, [HttpEndpoint("test", "*", second.url, 5)], "replaced")
        wait_until(served(second))
        savepoint = client.stop_with_savepoint(False, str(tmp_path / "one")).result()
        done = first.served
        env = environment(**{"execution.state-recovery.path": savepoint})
        counting_job(env, first.url, sink)
        client = env.execute_async("replaced")
        wait_until(served(second))
        assert first.served == done
        savepoint = client.stop_with_savepoint(False, str(tmp_path / "two")).result()
        with function_server(counting) as third:
            env = environment(**{"execution.state-recovery.path": savepoint})
            counting_job(env, third.url, sink)
            client = env.execute_async("replaced")
            wait_until(served(third))
            counting.is_over.set()
            client.get_job_execution_result().result(PATIENCE)
        assert first.served == done
    check_counts(sink.values())


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


def test_an_update_is_refused_by_name(running: Any) -> None:
    counting = Counting()
    endpoint = HttpEndpoint("test", "*", "http://127.0.0.1:1")
    with running(), function_server(counting) as server:
        env = environment()
        counting_job(env, server.url, CollectingSink())
        client = env.execute_async("replaced")
        with pytest.raises(JobControlError, match="no operator 'statefun-other' that takes mess"):
            update_endpoints(client, [endpoint], "other")
        with pytest.raises(MillraceError, match="two endpoints of test/*"):
            update_endpoints(client, [endpoint, endpoint], "replaced")
        counting.is_over.set()
        client.get_job_execution_result().result(PATIENCE)
