"""The server as a process: tokens, TLS, and what is left when it ends."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from millrace.cli.main import main
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError, StateError
from millrace.rest.http_server import TlsFiles
from millrace.server.access_tokens import AccessTokens, token_in
from millrace.server.api_route import AccessRole
from millrace.server.server_address import NAME, ServerAddress
from millrace.server.serving import ServerOptions, serve
from millrace.server.sql_registry import SqlRegistry


def options(directory: Path, **changes: object) -> ServerOptions:
    return ServerOptions(directory=directory, savepoints=directory / "s", port=0, **changes)


def test_tokens() -> None:
    tokens = AccessTokens("r" * 20, "o" * 20)
    roles = [tokens.role_of(f"Bearer {letter * 20}") for letter in "rox"]
    assert roles == [AccessRole.READ, AccessRole.OPERATE, AccessRole.NOBODY]
    assert tokens.role_of("") is AccessRole.NOBODY
    assert AccessTokens(None, "o" * 20).role_of("Bearer None") is AccessRole.NOBODY
    assert "o" * 20 not in repr(tokens)


def test_files_of_tokens(tmp_path: Path, caplog) -> None:
    made = token_in(tmp_path / "new", make=True)
    assert token_in(tmp_path / "new", make=True) == made
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    with pytest.raises(ConfigurationError, match="cannot be read"):
        token_in(tmp_path / "none")
    (tmp_path / "short").write_text("short")
    with pytest.raises(ConfigurationError, match="at least 16"):
        token_in(tmp_path / "short")
    (tmp_path / "open").write_text("t" * 20)
    (tmp_path / "open").chmod(0o644)
    assert token_in(tmp_path / "open") == "t" * 20
    assert "chmod 600" in caplog.text


def test_what_cannot_be_served(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--no-auth"):
        serve(options(tmp_path, host="0.0.0.0", authenticate=False), print)
    with pytest.raises(ConfigurationError, match="cannot be used"):
        serve(options(tmp_path, tls=TlsFiles(tmp_path / "none.pem")), print)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="file is a file; name a directory"):
        serve(options(tmp_path / "file"), print)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "registry.db").write_text("this is no database, but a text")
    with pytest.raises(StateError, match=r"damaged/registry.db cannot be opened: file is not a da"):
        serve(options(damaged), print)
    other = SqlRegistry(f"sqlite:///{tmp_path}/registry.db")
    assert other.claim()
    with pytest.raises(StateError, match="another server"):
        serve(options(tmp_path), print)
    other.close()


def test_storage_is_a_directory_that_is_mounted(tmp_path: Path) -> None:
    key = "high-availability.storage-dir"
    for named in ("/mnt/shared", "file:///mnt/shared"):
        assert options(tmp_path, configuration=Configuration({key: named})).storage == Path(
            "/mnt/shared"
        )
    assert options(tmp_path).storage is None
    with pytest.raises(ConfigurationError, match="that all servers mount.*'s3://bucket/ha'"):
        serve(options(tmp_path, configuration=Configuration({key: "s3://bucket/ha"})), print)


@pytest.mark.fault
def test_a_server_begins_and_ends(tmp_path: Path, eventually) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "millrace", "server", "--port", "0"]
    directory = tmp_path / "millrace" / "server"
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    eventually((directory / NAME).exists, "the server")
    assert stat.S_IMODE((directory / NAME).stat().st_mode) == 0o600
    address = ServerAddress.read(directory)
    connection = HTTPConnection("127.0.0.1", urlsplit(address.url).port, timeout=30)
    connection.request("GET", "/v1/overview", headers={"Authorization": f"Bearer {address.token}"})
    assert connection.getresponse().status == 200
    second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert address.url in second.stderr
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert address.token.encode() not in said
    assert not (directory / NAME).exists()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("jobstore.max-capacty=5", "did you mean 'jobstore.max-capacity'"),
        ("parallelism.default=2", "an option of jobs"),
    ],
)
def test_settings_that_no_server_reads_are_refused(setting: str, said: str, capsys) -> None:
    assert main(["server", "--conf", setting]) == 2
    assert said in capsys.readouterr().err
