"""Each kind of bad reply and bad message: the job fails with an error that names function, address
and endpoint, and when the functions are mended, it goes on without a lost or doubled message."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler
from threading import Event
from time import monotonic, sleep
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.statefun.counting_functions import put
from tests.statefun.function_server import FunctionServer

from millrace.common import Configuration
from millrace.common.errors import MillraceError
from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.dispatch.dispatch_operator import DispatchOperator, DispatchSpec, egress_tag
from millrace.statefun.invocation.batch import (
    CallAttempt,
    MessageBatch,
    Reply,
    RoutableMessage,
    StateSpec,
)
from millrace.statefun.invocation.wire import read_reply
from millrace.statefun.module.components import HttpEndpoint, Transport
from millrace.statefun.protocol import AFTER_WRITE, FromFunction, ToFunction
from millrace.statefun.types import INT, STRING, decoded, typed
from millrace.testing import CollectingSink, OperatorHarness

PATIENCE = 60.0
IDS = "abc"
SETTINGS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100000",
    "restart-strategy.fixed-delay.delay": "10 ms",
}
QUICK = Transport(call_ms=200)
FINAL = Transport(call_ms=60_000)
"""For replies that are not asked for again."""
OKHTTP = Transport(False, 200, 1_000, 1_000, 1_000)


class Answer(NamedTuple):
    """Reply of a server. It is sent after ``pause`` seconds."""

    body: bytes = b""
    status: int = 200
    type: str = "application/octet-stream"
    pause: float = 0.0


def counted(request: Any) -> Any:
    """Count messages in a state, and write the count to the egress."""
    invocation, reply = request.invocation, FromFunction()
    if not invocation.state:
        missing = reply.incomplete_invocation_context.missing_values.add()
        missing.state_name, missing.type_typename = "seen", INT
        return reply
    (state,) = invocation.state
    value = state.state_value
    seen = decoded(TypedValue(INT, True, value.value)) if value.has_value else 0
    result = reply.invocation_result
    for _ in invocation.invocations:
        seen += 1
        written = result.outgoing_egresses.add()
        written.egress_namespace, written.egress_type = "test", "out"
        put(written.argument, typed(STRING, f"{invocation.target.id} {seen}"))
    change = result.state_mutations.add()
    change.mutation_type, change.state_name = 1, "seen"
    put(change.state_value, typed(INT, seen))
    return reply


def reply_with(change: Callable[[Any], None]) -> Answer:
    """Reply whose result is changed."""
    reply = FromFunction()
    change(reply.invocation_result)
    return Answer(reply.SerializeToString())


def unregistered(result: Any) -> None:
    change = result.state_mutations.add()
    change.mutation_type, change.state_name = 1, "other"
    put(change.state_value, typed(INT, 1))


def unknown_type(result: Any) -> None:
    change = result.state_mutations.add()
    change.mutation_type, change.state_name = 1, "seen"
    put(change.state_value, ("test/else", True, b"1"))


def unknown_mutation(result: Any) -> None:
    change = result.state_mutations.add()
    change.mutation_type, change.state_name = 7, "seen"


def without_target(result: Any) -> None:
    put(result.outgoing_messages.add().argument, typed(INT, 1))


def into_the_past(result: Any) -> None:
    later = result.delayed_invocations.add()
    later.delay_in_ms, later.target.namespace, later.target.type = -1, "test", "counter"


def to_unknown_function(result: Any) -> None:
    sent = result.outgoing_messages.add()
    sent.target.namespace, sent.target.type, sent.target.id = "none", "such", "7"


def to_unknown_egress(result: Any) -> None:
    written = result.outgoing_egresses.add()
    written.egress_namespace, written.egress_type = "test", "none"


def asking(state: str, typename: str, mode: int = 0, ttl: int = 0) -> Answer:
    reply = FromFunction()
    missing = reply.incomplete_invocation_context.missing_values.add()
    missing.state_name, missing.type_typename = state, typename
    missing.expiration_spec.mode, missing.expiration_spec.expire_after_millis = mode, ttl
    return Answer(reply.SerializeToString())


STATE = r".*\(function test/counter/[abc] at {url}\)"
CALL = "function test/counter/[abc] at {url} failed for [0-9]+ messages?: "
BAD = [
    pytest.param(Answer(b"\xff\xff"), FINAL, CALL + "2 bytes are not a reply", id="no protobuf"),
    pytest.param(Answer(b"<html>"), FINAL, CALL + "6 bytes are not a reply", id="another service"),
    pytest.param(reply_with(unknown_type), FINAL, STATE, id="value of another type"),
    pytest.param(reply_with(unregistered), FINAL, STATE, id="unregistered state"),
    pytest.param(reply_with(unknown_mutation), FINAL, CALL + "the state 'seen' has a mut", id="?"),
    pytest.param(reply_with(without_target), FINAL, CALL + "a message has no target", id="target"),
    pytest.param(reply_with(into_the_past), FINAL, CALL + "a message has the delay", id="delay"),
    pytest.param(asking("seen", "test/else"), FINAL, STATE, id="state of another type"),
    pytest.param(asking("seen", INT), FINAL, STATE, id="state that the request has"),
    pytest.param(asking("s", INT, 9), FINAL, CALL + "the state 's' expires in the u", id="mode"),
    pytest.param(asking("s", INT, AFTER_WRITE, -5), FINAL, CALL + "the state 's' has", id="ttl"),
    pytest.param(Answer(b"x" * (100 << 20)), FINAL, CALL + "the reply has 104857600", id="100 MB"),
    pytest.param(Answer(pause=PATIENCE), QUICK, CALL + "1 attempt in 200 ms failed", id="hangs"),
    pytest.param(Answer(status=302), QUICK, CALL + ".* status 302", id="302 async"),
    pytest.param(Answer(status=404), QUICK, CALL + ".* status 404", id="404 async"),
    pytest.param(Answer(status=503), QUICK, CALL + ".* status 503", id="503 async"),
    pytest.param(Answer(status=302), OKHTTP, CALL + "it answered with status 302", id="302"),
    pytest.param(Answer(status=404), OKHTTP, CALL + "it answered with status 404", id="404"),
    pytest.param(Answer(status=503), OKHTTP, CALL + ".* attempts in 200 ms failed", id="503"),
    pytest.param(Answer(type="text/html"), OKHTTP, CALL + "it answered with cont", id="type"),
    pytest.param(
        reply_with(to_unknown_function), FINAL,
        "a message to none/such/7 has no function: .*; the message is from function test/counter/",
        id="unknown function",
    ),
    pytest.param(
        reply_with(to_unknown_egress), FINAL,
        STATE.replace(".*", "wrote to the egress test/none, which does not exist.*"),
        id="unknown egress",
    ),
]  # fmt: skip


GOOD = [
    reply_with(to_unknown_egress).body,
    reply_with(without_target).body,
    asking("seen", INT, AFTER_WRITE, 5).body,
]
NAMES = "test", "counter"
OUT = FunctionType("test", "out")


def eventful(result: Any) -> None:
    """One effect of each kind."""
    change = result.state_mutations.add()
    change.mutation_type, change.state_name = 1, "seen"
    put(change.state_value, typed(INT, 7))
    written = result.outgoing_egresses.add()
    written.egress_namespace, written.egress_type = OUT
    put(written.argument, typed(STRING, "written"))
    sent = result.outgoing_messages.add()
    later = result.delayed_invocations.add()
    later.delay_in_ms, later.cancellation_token = 1 << 62, "token"
    for message in (sent, later):
        message.target.namespace, message.target.type, message.target.id = *NAMES, "b"
        put(message.argument, typed(INT, 1))


GOOD.append(reply_with(eventful).body)


class Replaying:
    """Invoker whose first reply has given bytes. It notes the states of requests."""

    def __init__(self, content: bytes) -> None:
        self._contents = [content]
        self.max_batch, self.max_bytes = 10, None
        self.attempts: deque[CallAttempt] = deque()
        self.states: list[dict[str, TypedValue]] = []

    def is_direct(self, function: FunctionType) -> bool:
        return True

    def place(self, function: FunctionType) -> str:
        return "here"

    def specs(self, function: FunctionType) -> tuple[StateSpec, ...]:
        return (StateSpec("seen", INT),)

    def invoke_now(self, batch: MessageBatch) -> Reply:
        self.states.append(dict(batch.states))
        return read_reply(self._contents.pop() if self._contents else b"", batch.target)

    async def invoke(self, batch: MessageBatch) -> Reply:
        raise NotImplementedError

    def retire(self) -> None:
        pass

    def close(self) -> None:
        pass


def dispatcher(invoker: Replaying) -> OperatorHarness:
    factory = partial(DispatchOperator, DispatchSpec(((*NAMES, invoker),), (OUT,)))
    return OperatorHarness(
        lambda stream: stream.key_by(lambda m: m[0][2])._then("Functions", factory, None)
    )


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Bytes of a reply with changed, added, removed and repeated parts."""
    content = bytearray(draw(st.sampled_from(GOOD)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        end = min(len(content), at + draw(st.integers(0, 6)))
        kind = draw(st.sampled_from(["set", "insert", "delete", "repeat", "truncate"]))
        match kind:
            case "set" if at < len(content):
                content[at] = draw(st.integers(0, 255))
            case "insert":
                content[at:at] = draw(st.binary(max_size=8))
            case "delete":
                del content[at:end]
            case "repeat":
                content[at:at] = content[at:end]
            case "truncate":
                del content[at:]
    return bytes(content)


@settings(max_examples=400, deadline=None)
@given(mutated())
@example(GOOD[-1])
def test_a_mutated_reply_is_carried_out_or_refused_whole(content: bytes) -> None:
    """Either the state after it can be stored and restored, or the error names the function and
    nothing has changed."""
    invoker = Replaying(content)
    harness = dispatcher(invoker)
    message = RoutableMessage(Address(*NAMES, "a"), typed(INT, 1))
    failure = None
    try:
        harness.process_element(message)
        snapshot = harness.snapshot()
    except MillraceError as error:
        failure = str(error)
    if failure is None:
        restored = harness.restored(snapshot)
        restored.set_processing_time(2)
        restored.process_element(message)
        return
    assert "test/counter/a" in failure
    harness.abort()
    assert harness.output() == harness.side_output(egress_tag(OUT)) == []
    harness.process_element(message)
    assert invoker.states[-1] == {"seen": TypedValue("", False, b"")}
    assert harness.operator.next_wakeup() is None


class FaultyServer(FunctionServer):
    """Server that counts, and gives a bad answer while it is broken: to requests with states, so
    that the functions have registered them."""

    def __init__(self, bad: Answer) -> None:
        super().__init__(counted)
        self.is_broken, self.is_stopped = True, Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                request = ToFunction.FromString(content)
                answer = Answer(counted(request).SerializeToString())
                if server.is_broken and request.invocation.state:
                    answer = bad
                server.is_stopped.wait(answer.pause)
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.type)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                """Be silent."""

        self.RequestHandlerClass = Handler

    def stop(self) -> None:
        self.is_stopped.set()
        super().stop()


@pytest.mark.parametrize("running", ["resident"], indirect=True)
@pytest.mark.parametrize(("bad", "transport", "error"), BAD)
def test_a_bad_reply_fails_the_job_and_loses_nothing(
    running: Any, bad: Answer, transport: Transport, error: str
) -> None:
    server, sink = FaultyServer(bad), CollectingSink[str]()
    with running():
        config = Configuration(SETTINGS)
        env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
        messages = env.from_collection(list(IDS * 5)).map(
            lambda id: routable_message("test/counter", id, typed(STRING, id))
        )
        (
            StatefulFunctionDataStreamBuilder.builder("bad")
            .with_data_stream_as_ingress(messages)
            .with_request_reply_remote_function(HttpEndpoint("test", "*", server.url, 4, transport))
            .with_egress_id("test/out")
            .build(env)
            .get_data_stream_for_egress_id("test/out")
            .map(decoded)
            .sink_to(sink)
        )
        client = env.execute_async("bad")
        deadline = monotonic() + PATIENCE
        pattern = re.compile(error.format(url=re.escape(server.url)), re.DOTALL)
        while not any(pattern.search(e.cause) for e in client.progress().exceptions):
            assert monotonic() < deadline, [e.cause for e in client.progress().exceptions]
            sleep(0.01)
        server.is_broken = False
        client.get_job_execution_result().result(PATIENCE)
    server.stop()
    assert sorted(sink.values()) == [f"{id} {n}" for id in IDS for n in range(1, 6)]
