"""Invocations over HTTP: retries of both transports, and every kind of bad reply."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.dispatch.function_repository import FunctionRepository
from millrace.statefun.invocation import remote
from millrace.statefun.invocation.batch import (
    DelayedMessage,
    Effects,
    InvocationError,
    MessageBatch,
    MissingStates,
    Reply,
    RoutableMessage,
    StateSpec,
)
from millrace.statefun.invocation.remote import RemoteFunctions
from millrace.statefun.module.components import HttpEndpoint, Transport
from millrace.statefun.protocol import AFTER_WRITE, FromFunction, ToFunction
from millrace.statefun.types import STRING, typed

TARGET = Address("test", "greeter", "7")
MESSAGE = RoutableMessage(TARGET, typed(STRING, "hello"), Address("test", "other", "1"))
BATCH = MessageBatch(TARGET, {"seen": typed(STRING, "")}, [MESSAGE])
ASYNC = Transport(call_ms=2_000)
OKHTTP = Transport(False, 2_000, 1_000, 1_000, 1_000)
Answer = bytes | None
"""Bytes that a server sends to a request; None if it closes the connection."""


def answer(body: bytes = b"", status: int = 200, type: str = "application/octet-stream") -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Server:
    """Gives one answer after the other, the last again and again."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.bodies: list[bytes] = []
        self.heads: list[bytes] = []
        self.connections = 0
        self.ended = 0
        """Number of connections that the client has closed."""
        self.user = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(size))
                next_answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                if next_answer is None:
                    return
                writer.write(next_answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended += 1
        finally:
            writer.close()

    def run(
        self, transport: Transport, body: Callable[[RemoteFunctions], Awaitable[Reply]]
    ) -> Reply:
        """Run a scenario with functions of this server."""

        async def scenario() -> Reply:
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            url = f"http://{self.user}127.0.0.1:{port}/{{function.name}}?v=1"
            functions = RemoteFunctions(HttpEndpoint("test", "*", url, 10, transport))
            try:
                return await body(functions)
            finally:
                functions.close()
                server.close()

        return asyncio.run(scenario())

    def reply(self, transport: Transport = ASYNC) -> Reply:
        """Reply to one batch."""
        return self.run(transport, lambda functions: functions.invoke(BATCH))


def test_a_request_has_target_states_messages_and_caller() -> None:
    server = Server(answer())
    assert server.reply() == Effects()
    (body,), (head,) = server.bodies, server.heads
    assert head.startswith(b"POST /greeter?v=1 HTTP/1.1\r\n")
    assert b"Content-Type: application/octet-stream\r\n" in head
    invocation = ToFunction.FromString(body).invocation
    assert (invocation.target.namespace, invocation.target.id) == ("test", "7")
    assert [(s.state_name, s.state_value.has_value) for s in invocation.state] == [("seen", True)]
    (sent,) = invocation.invocations
    assert sent.caller.type == "other"
    assert sent.argument.value == typed(STRING, "hello").value


def test_effects_and_missing_states_are_read() -> None:
    reply = FromFunction()
    result = reply.invocation_result
    result.outgoing_messages.add().target.namespace = "a"
    result.outgoing_messages[0].target.type = "b"
    later = result.delayed_invocations.add()
    later.is_cancellation_request, later.cancellation_token = True, "x"
    result.state_mutations.add().state_name = "gone"
    effects = Server(answer(reply.SerializeToString())).reply()
    assert isinstance(effects, Effects)
    assert effects.mutations == {"gone": None}
    assert effects.messages == [(("a", "b", ""), ("", False, b""), TARGET)]
    assert effects.delayed == [DelayedMessage(None, 0, "x")]
    for nothing in (b"", FromFunction().SerializeToString(), b"\x08\x01"):  # an unknown field
        assert Server(answer(nothing)).reply() == Effects()
    missing = FromFunction()
    spec = missing.incomplete_invocation_context.missing_values.add()
    spec.state_name, spec.type_typename = "seen", STRING
    spec.expiration_spec.mode, spec.expiration_spec.expire_after_millis = AFTER_WRITE, 5
    reply_of_missing = Server(answer(missing.SerializeToString())).reply()
    assert reply_of_missing == MissingStates((StateSpec("seen", STRING, AFTER_WRITE, 5),))


def test_connections_are_kept() -> None:
    server = Server(answer())

    async def twice(functions: RemoteFunctions) -> Reply:
        await functions.invoke(BATCH)
        return await functions.invoke(BATCH)

    server.run(ASYNC, twice)
    assert server.connections == 1
    server.run(replace(ASYNC, pool_ttl_ms=0), twice)
    assert server.connections == 3


def test_a_kept_connection_that_was_closed_is_replaced_by_a_new_one() -> None:
    """The attempt is repeated at once, without a look at other kept connections."""
    server = Server(answer(), answer(), answer(), None, answer())

    async def scenario(functions: RemoteFunctions) -> Reply:
        await asyncio.gather(*(functions.invoke(BATCH) for _ in range(3)))
        kept = server.connections
        reply = await functions.invoke(BATCH)
        assert server.connections == kept + 1
        return reply

    server.run(OKHTTP, scenario)
    assert len(server.bodies) == 5


def test_idle_connections_are_closed_after_their_time_to_live() -> None:
    server = Server(answer())

    async def scenario(functions: RemoteFunctions) -> Reply:
        reply = await functions.invoke(BATCH)
        while not server.ended:
            await asyncio.sleep(0.005)
        return reply

    server.run(replace(ASYNC, pool_ttl_ms=20), scenario)
    assert server.ended == 1


def test_closing_ends_connections_with_requests_in_flight() -> None:
    server = Server(answer(), b"")

    async def scenario(functions: RemoteFunctions) -> Reply:
        reply = await functions.invoke(BATCH)
        hanging = asyncio.create_task(functions.invoke(BATCH))
        while len(server.bodies) < 2:
            await asyncio.sleep(0.005)
        functions.close()
        while not server.ended:
            await asyncio.sleep(0.005)
        hanging.cancel()
        return reply

    server.run(ASYNC, scenario)


def test_a_user_and_password_are_sent_and_not_shown() -> None:
    server = Server(answer(status=401))
    server.user = "ada:s%40cret@"
    with pytest.raises(InvocationError, match="status 401") as caught:
        server.reply(OKHTTP)
    head = server.heads[0].decode()
    assert f"Authorization: Basic {b64encode(b'ada:s@cret').decode()}\r\n" in head
    assert "Host: 127.0.0.1:" in head
    assert "cret" not in str(caught.value)
    endpoint = HttpEndpoint("test", "*", "http://ada:s%40cret@localhost/x")
    assert repr(endpoint) == "HttpEndpoint(test/* at http://localhost/x)"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://localhost",
        "http://",
        "http://localhost:port/",
        "http://localhost:70000/",
        "http://[::1/",
        "http://local host/",
        "http://localhost/\r\nX-Evil: 1",
        "http://localhost/caf\u00e9",
        f"http://{'a' * 70}.de/",
        "http://ada:se/cret@localhost/",
        "http://ada:secret@localhost/{name}",
    ],
)
def test_a_malformed_url_is_refused_when_the_endpoint_is_made(url: str) -> None:
    with pytest.raises(JobDefinitionError) as caught:
        HttpEndpoint("test", "*", url)
    assert "cret" not in str(caught.value)


def answers_forever(head: bytes, line: bytes) -> bytes:
    return head + line * (100_000 // len(line))


@pytest.mark.parametrize(
    "reply",
    [
        answers_forever(b"HTTP/1.1 200 OK\r\n", b"X-Name: value\r\n"),
        answers_forever(b"HTTP/1.1 200 OK\r\nX-Name: ", b"x"),
        answers_forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        answers_forever(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Name: v\r\n"
        ),
    ],
)
def test_headers_have_a_limit(reply: bytes) -> None:
    server = Server(reply)
    with pytest.raises(InvocationError, match="more than 65536 bytes of headers"):
        server.reply()
    assert len(server.bodies) == 1


def test_a_body_of_tiny_chunks_is_read() -> None:
    body = FromFunction()
    body.invocation_result.state_mutations.add().state_name = "x" * 60_000
    content = body.SerializeToString()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in content)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
    reply = Server(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n").reply()
    assert reply == Effects({"x" * 60_000: None})


def test_read_limits_the_time_without_a_byte() -> None:
    """A reply that comes slowly, but steadily, is no failure."""
    content = answer()
    slow = replace(OKHTTP, read_ms=300, call_ms=10_000)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for start in range(0, len(content), 8):
            writer.write(content[start : start + 8])
            await asyncio.sleep(0.05)
        writer.close()

    server = Server()
    server.serve = serve  # type: ignore[method-assign]
    assert server.reply(slow) == Effects()
    with pytest.raises(InvocationError, match=r"it has sent no byte for 0.05 s"):
        Server(b"HTTP/1.1").reply(replace(OKHTTP, read_ms=50, call_ms=150))


def test_write_limits_the_time_in_which_no_byte_is_taken() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(10)

    server = Server()
    server.serve = serve  # type: ignore[method-assign]
    sent = RoutableMessage(TARGET, TypedValue("test/bytes", True, b"x" * (8 << 20)))
    with pytest.raises(InvocationError, match=r"it has taken no byte for 0.1 s"):
        server.run(
            replace(OKHTTP, write_ms=100, read_ms=None, call_ms=500),
            lambda functions: functions.invoke(MessageBatch(TARGET, {}, [sent])),
        )


@pytest.mark.parametrize("status", [408, 409, 420, 429, 499, 500, 503, 599])
@pytest.mark.parametrize("transport", [ASYNC, OKHTTP], ids=["async", "okhttp"])
def test_both_transports_repeat_after(status: int, transport: Transport) -> None:
    server = Server(answer(status=status), None, answer(status=status), answer())
    assert server.reply(transport) == Effects()
    assert len(server.bodies) == 4


@pytest.mark.parametrize("status", [301, 400, 401, 404])
def test_other_answers_are_final_for_okhttp_alone(status: int) -> None:
    with pytest.raises(InvocationError, match=rf"greeter/7 at http://.*status {status}"):
        Server(answer(status=status)).reply(OKHTTP)
    assert Server(answer(status=status), answer()).reply(ASYNC) == Effects()


def test_a_wrong_content_type_is_a_failure() -> None:
    page = answer(b"<html>", type="text/html")
    with pytest.raises(InvocationError, match="answered with content type 'text/html' instead of"):
        Server(page).reply(OKHTTP)
    assert Server(page, answer()).reply(ASYNC) == Effects()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"\xff\xff\xff", "3 bytes are not a reply"),
        (b"\xa2\x06\x02\x12\x00", "a message has no target"),
        (b"\xa2\x06\x04\x1a\x02\x50\x01", "a cancellation has no token"),
        (b"x" * 2000, "the reply has 2000 bytes"),
    ],
)
def test_malformed_replies_are_final(reply: bytes, message: str) -> None:
    transport = replace(ASYNC, payload_max_bytes=1000)
    server = Server(answer(reply))
    with pytest.raises(InvocationError, match=message):
        server.reply(transport)
    assert len(server.bodies) == 1


@pytest.mark.parametrize("transport", [ASYNC, OKHTTP], ids=["async", "okhttp"])
@pytest.mark.parametrize("bad", [None, b"this is not HTTP\r\n\r\n", answer(status=500)])
def test_the_budget_ends_the_attempts(transport: Transport, bad: Answer) -> None:
    server = Server(bad)
    with pytest.raises(InvocationError, match=r"for 1 message: \d+ attempts in 600 ms failed"):
        server.reply(replace(transport, call_ms=600))
    assert len(server.bodies) >= 2


def test_an_endpoint_that_hangs_is_given_up_after_the_budget() -> None:
    with pytest.raises(InvocationError, match="1 attempt in 100 ms failed"):
        Server(b"").reply(replace(ASYNC, call_ms=100))


@pytest.mark.parametrize(
    ("bad", "reason", "pause"),
    [
        pytest.param(b"", "(1 attempt): there was no answer.", 30.0, id="hangs"),
        pytest.param(answer(status=503), "it answered with status 503.", 0.0, id="fails"),
    ],
)
def test_the_log_tells_of_an_endpoint_before_the_budget_is_spent(
    bad: bytes,
    reason: str,
    pause: float,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(remote, "LONG_SECONDS", 0.01)
    monkeypatch.setattr(remote, "TELL_SECONDS", pause)
    with pytest.raises(InvocationError):
        Server(bad).reply(replace(ASYNC, call_ms=200))
    told = [record.getMessage() for record in caplog.records if record.name == remote.__name__]
    assert len(told) == 1 or not pause
    text = told[-1]
    assert text.startswith("function test/greeter/7 at http://127.0.0.1:")
    assert reason in text
    assert text.endswith("is given up after 0.2 s; calls of this endpoint that go on: 1")


def test_an_endpoint_that_is_away_is_waited_for() -> None:
    async def scenario() -> Reply:
        server = Server(answer())
        taken = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        taken.close()
        await taken.wait_closed()
        functions = RemoteFunctions(
            HttpEndpoint("test", "*", f"http://127.0.0.1:{port}", 10, Transport(call_ms=10_000))
        )
        invocation = asyncio.create_task(functions.invoke(BATCH))
        await asyncio.sleep(0.05)
        assert not invocation.done()
        back = await asyncio.start_server(server.serve, "127.0.0.1", port)
        try:
            return await invocation
        finally:
            functions.close()
            back.close()

    assert asyncio.run(scenario()) == Effects()


@pytest.mark.parametrize(
    ("path", "target"),
    [("", b"/"), ("/{function.name}?v=1", b"/greeter?v=1"), ("/a/b.sock", b"/a/b.sock")],
)
def test_a_socket_of_the_host_is_called(tmp_path: Path, path: str, target: bytes) -> None:
    """The server comes late: until then, there is no socket."""
    server, socket = Server(answer()), tmp_path / "my.sockets" / "f n.sock"
    socket.parent.mkdir()
    url = f"http+unix://{str(socket).replace(' ', '%20')}{path}"

    async def scenario() -> list[Reply]:
        functions = RemoteFunctions(HttpEndpoint("test", "*", url, 10, ASYNC))
        first = asyncio.create_task(functions.invoke(BATCH))
        while not functions.attempts:
            await asyncio.sleep(0.001)
        listening = await asyncio.start_unix_server(server.serve, socket)
        replies = [await first, await functions.invoke(BATCH)]
        functions.close()
        listening.close()
        return replies

    assert asyncio.run(scenario()) == [Effects(), Effects()]
    assert server.connections == 1
    assert [head.split(b" ")[:2] for head in server.heads] == [[b"POST", target]] * 2
    assert b"\r\nHost: localhost\r\n" in server.heads[0]


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_would_change_the_path_has_no_url(name: str) -> None:
    function = FunctionType("test", name)
    urls = {
        "http://h/{function.name}": False,
        "http://h/x-{function.name}": True,
        "http://h/": True,
    }
    for url, is_possible in urls.items():
        endpoint = HttpEndpoint("test", "*", url)
        assert endpoint.can_name(function) is is_possible
        table = FunctionRepository((("test", "*", RemoteFunctions(endpoint)),))
        if is_possible:
            assert table.invoker(Address("test", name, "1")).place(function)
        else:
            with pytest.raises(InvocationError, match="the path of a URL cannot have the name"):
                table.invoker(Address("test", name, "1"))
