"""Functions whose messages have an order that can be checked, and a job of them."""

from __future__ import annotations

from collections import defaultdict
from threading import Event
from typing import Any

from millrace.statefun.address import TypedValue
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.module.components import HttpEndpoint
from millrace.statefun.protocol import FromFunction
from millrace.statefun.types import INT, STRING, decoded, typed
from millrace.testing import CollectingSink

FEEDERS = 4


class Counting:
    """Feeders, which send themselves and a collector numbers in order until they are told to end,
    and collectors, which write what they get to the egress with a count of their own."""

    def __init__(self) -> None:
        self.is_over = Event()

    def __call__(self, request: Any) -> Any:
        invocation = request.invocation
        reply = FromFunction()
        if invocation.target.type == "feeder":
            for message in invocation.invocations:
                self._feed(invocation.target.id, message, reply.invocation_result)
        elif not invocation.state:
            missing = reply.incomplete_invocation_context.missing_values.add()
            missing.state_name, missing.type_typename = "seen", INT
        else:
            _collect(invocation, reply.invocation_result)
        return reply

    def _feed(self, id: str, message: Any, result: Any) -> None:
        number = decoded_of(message.argument)
        send(result, "collector", f"c{int(id) % 2}", message.argument)
        if not self.is_over.is_set():
            send(result, "feeder", id, message.argument, number + 1)


def _collect(invocation: Any, result: Any) -> None:
    (state,) = invocation.state
    seen = decoded_of(state.state_value) if state.state_value.has_value else 0
    for message in invocation.invocations:
        seen += 1
        written = result.outgoing_egresses.add()
        written.egress_namespace, written.egress_type = "test", "out"
        text = f"{message.caller.id} {decoded_of(message.argument)} {invocation.target.id} {seen}"
        put(written.argument, typed(STRING, text))
    change = result.state_mutations.add()
    change.mutation_type, change.state_name = 1, "seen"
    put(change.state_value, typed(INT, seen))


def decoded_of(value: Any) -> Any:
    return decoded(TypedValue(value.typename, value.has_value, value.value))


def put(target: Any, value: Any) -> None:
    target.typename, target.has_value, target.value = value


def send(result: Any, type: str, id: str, argument: Any, number: int | None = None) -> None:
    sent = result.outgoing_messages.add()
    sent.target.namespace, sent.target.type, sent.target.id = "test", type, id
    value = (argument.typename, argument.has_value, argument.value)
    put(sent.argument, value if number is None else typed(INT, number))


def counting_job(
    env: Any, url: str, sink: CollectingSink[str], name: str = "*", builder: str = "replaced"
) -> None:
    """Add feeders and collectors at an endpoint to a job."""
    messages = env.from_collection(list(range(FEEDERS))).map(
        lambda id: routable_message("test/feeder", str(id), typed(INT, 0))
    )
    (
        StatefulFunctionDataStreamBuilder.builder(builder)
        .with_data_stream_as_ingress(messages)
        .with_request_reply_remote_function(HttpEndpoint("test", name, url, 5))
        .with_egress_id("test/out")
        .build(env)
        .get_data_stream_for_egress_id("test/out")
        .map(decoded)
        .sink_to(sink)
    )


def check_counts(texts: list[str], in_order: bool = True) -> None:
    """Check that each feeder's numbers have come once and in order, and each collector's counts.

    Args:
        in_order: False if the parallelism has changed, which may lose the order.
    """
    numbers, counts = defaultdict(list), defaultdict(list)
    for text in texts:
        feeder, number, collector, count = text.split()
        numbers[feeder].append(int(number))
        counts[collector].append(int(count))
    assert len(numbers) == FEEDERS
    for first, lists in ((0, numbers), (1, counts)):
        for found in lists.values():
            expected = list(range(first, first + len(found)))
            assert (found if in_order else sorted(found)) == expected
