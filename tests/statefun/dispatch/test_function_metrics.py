"""Metrics of functions, in the operator and as reporters get them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from told_functions import OUT, Told, address, message

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_details import JobDetails
from millrace.metrics.job_metrics import JobMetrics
from millrace.metrics.measurement import HistogramValue, Measurement, MetricKind
from millrace.runtime.metrics import MetricRegistry
from millrace.state.nested_table import NestedTable
from millrace.statefun.address import Address
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder
from millrace.statefun.dispatch.dispatch_operator import DispatchOperator, DispatchSpec
from millrace.statefun.dispatch.function_metrics import DispatchMetrics, FunctionMetrics
from millrace.statefun.dispatch.function_states import FunctionStates
from millrace.statefun.dispatch.mailboxes import Mailboxes
from millrace.statefun.invocation.batch import CallAttempt, MessageBatch, Reply
from millrace.testing import CollectingSink, OperatorHarness, run_local

FUNCTION = {"<function_namespace>": "test", "<function_name>": "told"}


def harness(functions: Told) -> OperatorHarness:
    factory = partial(DispatchOperator, DispatchSpec((("test", "told", functions),), (OUT,)))
    return OperatorHarness(
        lambda stream: stream.key_by(lambda m: m[0][2])._then("Functions", factory, None)
    )


def figures(of: OperatorHarness) -> dict[str, Any]:
    """Values of the function's metrics at the end of an epoch that is two seconds later."""
    of.set_processing_time(of._now + 2_000)
    of.set_processing_time(of._now + 2_000)
    registry = of.operator.context.metrics
    values = {
        **registry.values(),
        **{n: m.count for n, m in registry.metrics.items() if hasattr(m, "count")},
    }
    return {name.removeprefix("test.told."): value for name, value in values.items()}


def test_messages_effects_and_states_are_counted() -> None:
    one = harness(Told(True))
    one.process_elements(
        [message("a", ("add", 5), ("send", "b", (("add", 1),)), ("out",)), message("c", ("out",))]
    )
    told = figures(one)
    assert (told["in"], told["outLocal"], told["outRemote"], told["outEgress"]) == (3, 1, 0, 2)
    assert (told["numAddresses"], told["stateSize"]) == (2, 2)  # b"5" and b"1"
    assert (told["numBacklog"], told["inflightAsyncOps"]) == (0, 0)
    assert told["invocationLatency"]["count"] == 4  # the first one learned of the states
    assert told["endpoint"] == "test"


def test_what_waits_and_what_is_in_flight_is_told() -> None:
    class Hanging(Told):
        async def invoke(self, batch: MessageBatch) -> Reply:
            await asyncio.Event().wait()
            raise AssertionError

    one = harness(Hanging(False, max_batch=3))
    one.process_element(message("a", ("add", 1)))
    one.process_elements([message(id, ("add", 1)) for id in ("a", "a", "a", "a", "b", "b")])
    told = figures(one)
    assert (told["numBacklog"], told["inflightAsyncOps"]) == (4, 2)
    assert told["numBlockedAddress"] == 1
    one.operator.close()


def test_attempts_of_calls_are_counted() -> None:
    functions = Told(True)
    one = harness(functions)
    functions.attempts += [
        CallAttempt(address("a"), 4.0, True),
        CallAttempt(address("b"), 6.0, False),
    ]
    told = figures(one)
    assert told["remoteInvocationFailures"] == 1
    assert told["invocationLatency"]["sum"] == pytest.approx(10.0)
    assert not functions.attempts


def test_messages_that_come_round_the_loop_are_counted() -> None:
    one = harness(Told(True))
    one.process_elements([message("a"), message("b")._replace(caller=address("a"))])
    assert figures(one)["feedback.produced"] == 1


def test_sizes_of_many_states_are_estimated() -> None:
    table = NestedTable(lambda outer, inner: outer)
    for n in range(10_000):
        table.put(f"id{n}", ("test/told", "count"), ("test/count", b"x" * (n % 10), -1))
    states = FunctionStates(table, lambda: 0)
    for _ in range(20):
        ((addresses, size),) = states.estimated_sizes().values()
    assert addresses == 10_000
    assert 40_000 < size < 50_000


@pytest.mark.parametrize("direct", [True, False])
def test_reporters_get_metrics_per_function(direct: bool) -> None:
    seen: list[JobDetails] = []
    with run_local(workers=2, epoch_records=5) as cluster:
        cluster.listeners.append(seen.append)
        env = StreamExecutionEnvironment.get_execution_environment(Configuration())
        env.set_parallelism(2)
        ids = "abcdefgh"
        ingress = env.from_collection(
            [message(id, ("add", 1), ("send", ids[n - 1], (("out",),))) for n, id in enumerate(ids)]
        )
        builder = StatefulFunctionDataStreamBuilder.builder("t").with_egress_id(str(OUT))
        builder.with_data_stream_as_ingress(ingress)
        builder._with("test", "told", Told(direct))
        streams = builder.build(env)
        streams.get_data_stream_for_egress_id(str(OUT)).sink_to(CollectingSink())
        env.execute("metered")
    measured = JobMetrics("0" * 32).of(seen[-1], 60_000)
    of_function = [each for each in measured if each.variables == FUNCTION]
    assert {each.scope.variables["<subtask_index>"] for each in of_function} == {"0", "1"}
    sums = {
        name: sum(each.value for each in of_function if each.name == f"test.told.{name}")
        for name in ("in", "outLocal", "outRemote", "outEgress")
    }
    assert (sums["in"], sums["outEgress"]) == (16, 8)
    assert sums["outLocal"] + sums["outRemote"] == 8
    assert sums["outRemote"] > 0
    assert fed_back(measured) == sums["outRemote"]
    latency = next(each for each in of_function if each.name.endswith("ocationLatency"))
    assert latency.kind is MetricKind.HISTOGRAM
    assert isinstance(latency.value, HistogramValue)
    assert latency.value.quantiles.keys() >= {0.5, 0.99} or not direct
    assert {each.logical_name for each in of_function} >= {"function.in", "function.inRate"}


def test_names_that_differ_have_metrics_of_their_own() -> None:
    registry = MetricRegistry()
    names = [("a.b", "c"), ("a", "b.c"), ("a", "b%2Ec")]
    functions = [
        FunctionMetrics(registry, Address(*name, ""), lambda _: Told(True)) for name in names
    ]
    for count, metrics in enumerate(functions, 1):
        metrics.incoming.count += count
    counts = registry.counts()
    assert [counts[f"{path}.in"] for path in ("a.b.c", "a.b%2Ec", "a.b%252Ec")] == [1, 2, 3]


def test_limits_follow_an_update_of_the_endpoints() -> None:
    """An address is blocked if more messages wait than its *present* endpoint takes at a time."""
    invoker, clock = Told(True), 0
    mailboxes = Mailboxes(NestedTable(lambda outer, inner: outer))
    metrics = DispatchMetrics(MetricRegistry(), lambda _: invoker, lambda: clock)
    mailboxes.add([message("a")] * 5)
    blocked = []
    for invoker.max_batch in (10, 5, 6):
        clock += 2_000
        metrics.look(
            mailboxes, [], FunctionStates(NestedTable(lambda outer, inner: outer), lambda: 0)
        )
        blocked.append(metrics.of(address("a")).blocked)
    assert blocked == [0, 1, 0]


def fed_back(measured: list[Measurement]) -> int:
    return sum(int(each.value) for each in measured if each.name == "feedback.produced")  # type: ignore[arg-type]
