"""Invocations over HTTPS, with servers and clients whose certificates are made here."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.statefun.function_server import FunctionServer, function_server, no_effects

from millrace.statefun.address import Address
from millrace.statefun.invocation.batch import (
    Effects,
    InvocationError,
    MessageBatch,
    Reply,
    RoutableMessage,
)
from millrace.statefun.invocation.remote import RemoteFunctions
from millrace.statefun.module.components import HttpEndpoint, Transport
from millrace.statefun.types import STRING, typed

TARGET = Address("test", "greeter", "7")
BATCH = MessageBatch(TARGET, {}, [RoutableMessage(TARGET, typed(STRING, "hello"))])
PATIENT = Transport(call_ms=20_000)
HASTY = Transport(call_ms=900)


class Pair(NamedTuple):
    """Paths of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """Authority that signs certificates."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        self.own = self._self_signed("ca", "/CN=Authority")

    @property
    def trust(self) -> str:
        """Path of the authority's own certificate."""
        return str(self.own.certificate)

    def _self_signed(self, name: str, subject: str, *options: object) -> Pair:
        pair = Pair(self.directory / f"{name}.pem", self.directory / f"{name}.key")
        new = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        openssl(*new, "-nodes", "-days", 2, "-keyout", pair.key, "-out", pair.certificate,
                "-subj", subject, *options)  # fmt: skip
        return pair

    def self_signed(self) -> Pair:
        """A certificate for localhost that no authority has signed."""
        return self._self_signed("self", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")

    def issue(self, host: str = "localhost", days: int = 2, password: str | None = None) -> Pair:
        """A certificate that the authority has signed, valid for a number of days from now."""
        name = f"{host}-{days}-{password}"
        pair = Pair(self.directory / f"{name}.pem", self.directory / f"{name}.key")
        request, extension = self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        extension.write_text(f"subjectAltName=DNS:{host}\n")
        new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        lock = ("-nodes",) if password is None else ("-passout", f"pass:{password}")
        openssl(*new, *lock, "-keyout", pair.key, "-out", request, "-subj", f"/CN={host}")
        openssl("x509", "-req", "-in", request, "-CA", self.own.certificate, "-CAkey",
                self.own.key, "-days", days, "-extfile", extension, "-out", pair.certificate,
                )  # fmt: skip
        return pair


def openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "one")


@pytest.fixture(scope="module")
def other_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "other")


def serving(pair: Pair, clients: Authority | None = None) -> ssl.SSLContext:
    """Context of a server, which asks for certificates that an authority has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients.trust)
    return context


def invoked(server: FunctionServer, transport: Transport) -> Reply:
    """Reply of a server to one batch."""
    functions = RemoteFunctions(HttpEndpoint("test", "*", server.url, transport=transport))
    return asyncio.run(closing(functions))


async def closing(functions: RemoteFunctions) -> Reply:
    try:
        return await functions.invoke(BATCH)
    finally:
        functions.close()


def test_an_authority_of_its_own_is_trusted(authority: Authority) -> None:
    with function_server(no_effects, tls=serving(authority.issue())) as server:
        assert invoked(server, replace(PATIENT, trust_cacerts=authority.trust)) == Effects()


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("untrusted", "unable to get local issuer certificate"),
        ("self-signed", "self-signed certificate"),
        ("other host", "Hostname mismatch, certificate is not valid for 'localhost'"),
        ("expired", "certificate has expired"),
    ],
)
def test_a_certificate_that_is_not_right_fails_at_once(
    authority: Authority, other_authority: Authority, kind: str, reason: str
) -> None:
    pair = {
        "untrusted": other_authority.issue,
        "self-signed": authority.self_signed,
        "other host": lambda: authority.issue("elsewhere"),
        "expired": lambda: authority.issue(days=-1),
    }[kind]()
    with function_server(no_effects, tls=serving(pair)) as server:
        with pytest.raises(InvocationError, match=reason) as caught:
            invoked(server, replace(PATIENT, trust_cacerts=authority.trust))
        assert f"function test/greeter/7 at {server.url} failed for 1 message" in str(caught.value)
        assert server.served == 0


@pytest.mark.parametrize("password", [None, "s3cret"])
def test_a_client_shows_its_certificate(
    authority: Authority, tmp_path: Path, password: str | None
) -> None:
    own = authority.issue("client", password=password)
    transport = replace(
        PATIENT,
        trust_cacerts=authority.trust,
        client_cert=str(own.certificate),
        client_key=str(own.key),
    )
    if password is not None:
        (tmp_path / "password").write_text(password + "\n")
        transport = replace(transport, client_key_password=str(tmp_path / "password"))
    with function_server(no_effects, tls=serving(authority.issue(), authority)) as server:
        assert invoked(server, transport) == Effects()


def test_a_server_that_wants_a_certificate_refuses_a_client_without(authority: Authority) -> None:
    transport = replace(HASTY, trust_cacerts=authority.trust)
    with function_server(no_effects, tls=serving(authority.issue(), authority)) as server:
        with pytest.raises(InvocationError, match="attempts? in 900 ms failed, the last: "):
            invoked(server, transport)
        assert server.served == 0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"trust_cacerts": "none.pem"}, "trust_cacerts 'none.pem': No such file"),
        ({"trust_cacerts": __file__}, f"trust_cacerts '{__file__}' contains no certificate"),
        ({"client_key": "none.key"}, "client_key 'none.key': No such file"),
        ({"client_key_password": "none"}, "client_key_password 'none': No such file"),
        ({"client_key_password": __file__}, "cannot be loaded, is the password right"),
        ({"client_key_password": None}, "cannot be loaded, is the password right"),
    ],
)
def test_files_that_cannot_be_loaded_fail_at_once(
    authority: Authority, changed: dict[str, str | None], reason: str
) -> None:
    own = authority.issue("client", password="s3cret")
    transport = replace(
        PATIENT,
        trust_cacerts=authority.trust,
        client_cert=str(own.certificate),
        client_key=str(own.key),
    )
    with function_server(no_effects, tls=serving(authority.issue())) as server:
        with pytest.raises(InvocationError) as caught:
            invoked(server, replace(transport, **changed))
        assert reason in str(caught.value)
        assert f"at {server.url} failed" in str(caught.value)


def test_certificates_are_replaced_on_disk_while_functions_are_invoked(
    authority: Authority, other_authority: Authority, tmp_path: Path
) -> None:
    """First the client's files are those of one authority, then of the other one. In between they
    do not fit each other, and the former ones count."""
    trust, certificate, key = (tmp_path / name for name in ("ca.pem", "own.pem", "own.key"))
    transport = replace(
        PATIENT,
        trust_cacerts=str(trust),
        client_cert=str(certificate),
        client_key=str(key),
        pool_ttl_ms=0,
    )

    def place(authority: Authority) -> None:
        own = authority.issue("client")
        shutil.copy(authority.trust, trust)
        shutil.copy(own.certificate, certificate)
        shutil.copy(own.key, key)

    async def scenario() -> None:
        place(authority)
        server = FunctionServer(no_effects, tls=serving(authority.issue(), authority))
        functions = RemoteFunctions(HttpEndpoint("test", "*", server.url, transport=transport))
        assert await functions.invoke(BATCH) == Effects()
        shutil.copy(other_authority.issue("client").key, key)
        assert await functions.invoke(BATCH) == Effects()
        certificate.unlink()
        assert await functions.invoke(BATCH) == Effects()
        port = server.server_port
        await asyncio.to_thread(server.stop)
        place(other_authority)
        tls = serving(other_authority.issue(), other_authority)
        server = FunctionServer(no_effects, tls=tls, port=port)
        assert await functions.invoke(BATCH) == Effects()
        assert server.served == 1
        functions.close()
        await asyncio.to_thread(server.stop)

    asyncio.run(scenario())


def test_a_handshake_that_hangs_is_limited_by_connect(authority: Authority) -> None:
    async def scenario() -> Reply:
        silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        transport = replace(HASTY, connect_ms=50, trust_cacerts=authority.trust)
        url = f"https://localhost:{port}"
        try:
            return await closing(
                RemoteFunctions(HttpEndpoint("test", "*", url, transport=transport))
            )
        finally:
            silent.close()

    with pytest.raises(InvocationError, match=r"[2-9] attempts in 900 ms failed"):
        asyncio.run(scenario())


def test_a_server_without_tls_is_named(authority: Authority) -> None:
    with function_server(no_effects) as server:
        url = f"https://localhost:{server.server_port}"
        endpoint = HttpEndpoint("test", "*", url, transport=HASTY)
        with pytest.raises(InvocationError, match=r"at https://localhost.*the last: .*SSL"):
            asyncio.run(closing(RemoteFunctions(endpoint)))


def test_a_socket_of_the_host_has_the_certificate_of_localhost(
    authority: Authority, other_authority: Authority, tmp_path: Path
) -> None:
    """Both sides show their certificates, and one of another name or authority is refused."""
    socket, own = tmp_path / "functions.sock", authority.issue("client")
    heads: list[bytes] = []
    transport = replace(
        HASTY,
        trust_cacerts=authority.trust,
        client_cert=str(own.certificate),
        client_key=str(own.key),
    )
    url = f"https+unix://{socket}/call/{{function.name}}"
    headers = b"Content-Type: application/octet-stream\r\nContent-Length: 0"
    reply = b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                heads.append(head.split(b"\r\n")[0])
                size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                await reader.readexactly(size)
                writer.write(reply)
        writer.close()

    async def asked(pair: Pair) -> list[Reply]:
        tls = serving(pair, authority)
        server = await asyncio.start_unix_server(serve, socket, ssl=tls)
        functions = RemoteFunctions(HttpEndpoint("test", "*", url, transport=transport))
        try:
            return [await functions.invoke(BATCH), await functions.invoke(BATCH)]
        finally:
            functions.close()
            server.close()

    assert asyncio.run(asked(authority.issue())) == [Effects(), Effects()]
    assert heads == [b"POST /call/greeter HTTP/1.1"] * 2
    for pair, reason in (
        (authority.issue("elsewhere"), "Hostname mismatch"),
        (other_authority.issue(), "unable to get local issuer certificate"),
    ):
        with pytest.raises(InvocationError, match=reason) as caught:
            asyncio.run(asked(pair))
        assert f"at https+unix://{socket}" in str(caught.value)
    assert len(heads) == 2
