"""Who may ask, what happens to what is no proper request, and how it ends."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection

import pytest

from millrace.common.types.json_values import to_json, untagged
from millrace.rest import connection_limit, http_server
from millrace.rest import server as server_module
from millrace.rest.answers import Answer
from millrace.rest.server import RestServer


def echo(target: str) -> Answer:
    if target == "/broken":
        raise RuntimeError("a secret")
    if target == "/huge":
        return Answer(HTTPStatus.OK, 10**5_000)  # more digits than Python writes
    return Answer(HTTPStatus.OK, {"target": target}, {"X-Test": "yes"})


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stands still for a while must not end what a test holds open."""
    monkeypatch.setattr(http_server, "KEEP_ALIVE", 3600)
    monkeypatch.setattr(server_module, "PROOF_SECONDS", 3600)
    monkeypatch.setattr(connection_limit, "REFUSED_SECONDS", 3600)


@pytest.fixture
def server() -> Iterator[RestServer]:
    running = RestServer("127.0.0.1", 0, "t0ken", echo)
    yield running
    running.close()


def ask(server: RestServer, token: str | None = "t0ken", method: str = "GET", path: str = "/a?b=c"):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response, body


def raw(server: RestServer, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(request)
        received = b""
        while chunk := connection.recv(1 << 16):
            received += chunk
        return received


def test_an_answer_is_json(server) -> None:
    response, body = ask(server)
    assert (response.status, body) == (200, {"target": "/a?b=c"})
    assert response.getheader("Content-Type") == "application/json"
    assert response.getheader("X-Test") == "yes"
    assert response.getheader("Server") is None


@pytest.mark.parametrize("token", [None, "", "wrong", "t0ke", "t0kenn"])
def test_without_the_token_nothing_is_told(server, token) -> None:
    response, body = ask(server, token)
    assert response.status == 401
    assert response.getheader("WWW-Authenticate") == "Bearer"
    assert body == {"error": "the token is missing or wrong"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_there_is_nothing_but_get(server, method) -> None:
    response, _ = ask(server, method=method)
    assert response.status == 405
    assert response.getheader("Allow") == "GET"


@pytest.mark.parametrize("path", ["/broken", "/huge"])
def test_an_error_inside_tells_nothing_of_itself(server, path) -> None:
    response, body = ask(server, path=path)
    assert (response.status, body) == (500, {"error": "see the log of the job"})


def test_integers_of_any_length() -> None:
    """Python refuses to write and to read more than 4,300 digits."""

    def big(target: str) -> Answer:
        return Answer(HTTPStatus.OK, to_json({"n": 10**6000}))

    server = RestServer("127.0.0.1", 0, "t0ken", big)
    response, body = ask(server)
    assert response.status == 200
    assert untagged(body) == {"n": 10**6000}
    server.close()


def test_one_connection_serves_many_requests(server) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    for number in range(3):
        connection.request("GET", f"/{number}", headers={"Authorization": "Bearer t0ken"})
        assert json.loads(connection.getresponse().read()) == {"target": f"/{number}"}


def test_a_request_with_a_body_ends_the_connection(server) -> None:
    """Its body must not be taken for the next request."""
    smuggled = b"GET /b HTTP/1.1\r\n\r\n"
    received = raw(
        server,
        b"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(smuggled), smuggled),
    )
    assert received.count(b"HTTP/1.1 ") == 1


HEADERS = b"".join(b"X-%d: %s\r\n" % (number, b"a" * 1000) for number in range(400))


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HEADERS,
        b"GET / HTTP/1.1\r\nX: " + b"a" * 400_000,
    ],
)
def test_nonsense_is_refused_in_json(server, request_bytes) -> None:
    received = raw(server, request_bytes)
    assert b'{"error":' in received
    assert b"<html" not in received.lower()


def test_there_is_a_limit_to_connections(monkeypatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 1)
    server = RestServer("127.0.0.1", 0, "t", echo)
    first = HTTPConnection("127.0.0.1", server.port, timeout=60)
    first.request("GET", "/", headers={"Authorization": "Bearer t"})
    answer = first.getresponse()
    answer.read()
    assert answer.status == 200
    response, body = ask(server)
    assert (response.status, response.getheader("Retry-After")) == (503, "1")
    assert "too many connections" in body["error"]
    server.close()


def test_silent_connections_give_way() -> None:
    """Whoever has the token is served, however many hold connections without one."""
    server = RestServer("127.0.0.1", 0, "t", echo)
    welcome = HTTPConnection("127.0.0.1", server.port, timeout=60)
    welcome.request("GET", "/", headers={"Authorization": "Bearer t"})
    welcome.getresponse().read()
    silent = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(200)]
    for _ in range(3):
        response, body = ask(server, "t", path="/")
        assert (response.status, body) == (200, {"target": "/"})
    welcome.request("GET", "/again", headers={"Authorization": "Bearer t"})
    assert json.loads(welcome.getresponse().read()) == {"target": "/again"}
    for connection in (*silent, welcome):
        connection.close()
    server.close()


def test_who_does_not_show_the_token_cannot_stay(monkeypatch) -> None:
    """However busily it sends; who has shown it can."""
    monkeypatch.setattr(server_module, "PROOF_SECONDS", 0.3)
    server = RestServer("127.0.0.1", 0, "t", echo)
    welcome = welcomed(server)
    with socket.create_connection(("127.0.0.1", server.port), timeout=0.05) as dripping:
        dripping.sendall(b"GET / HTTP/1.1\r\n")
        ended = False
        deadline = time.monotonic() + 60
        while not ended and time.monotonic() < deadline:
            try:
                dripping.sendall(b"X")
                ended = dripping.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True
    assert ended
    welcome.request("GET", "/again", headers={"Authorization": "Bearer t"})
    assert json.loads(welcome.getresponse().read()) == {"target": "/again"}
    welcome.close()
    server.close()


def welcomed(server: RestServer) -> HTTPConnection:
    """Connection that has shown the token in time, which a busy machine may not do at first."""
    for _ in range(100):
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            connection.request("GET", "/", headers={"Authorization": "Bearer t"})
            connection.getresponse().read()
        except ConnectionError:
            connection.close()
        else:
            return connection
    raise AssertionError("the server admits nobody")


def test_closing_ends_open_connections() -> None:
    running = RestServer("127.0.0.1", 0, "t", echo)
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n")
        received = b""
        while not received.endswith(b"}"):
            received += connection.recv(1 << 16)
        assert received.startswith(b"HTTP/1.1 200")
        running.close()
        assert connection.recv(1) == b""
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", running.port), timeout=1)
