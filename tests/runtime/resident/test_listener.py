"""Sockets at which a worker accepts connections of other workers."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from millrace.runtime.resident.connection import connect
from millrace.runtime.resident.listener import Listener


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary directory whose path is short."""
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")


@pytest.mark.usefixtures("short")
def test_workers_of_this_machine_connect_by_a_path() -> None:
    listener = Listener()
    assert listener.place.tcp == ""
    link = connect(f"unix:{listener.place.unix}")
    assert listener.sockets[0].accept()[0].close() is None
    link.close()
    listener.close()


@pytest.mark.usefixtures("short")
def test_no_other_user_may_connect() -> None:
    listener = Listener()
    directory = Path(listener.place.unix).parent
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert directory.stat().st_uid == os.getuid()
    listener.close()


@pytest.mark.usefixtures("short")
def test_nothing_stays_behind() -> None:
    listener = Listener("127.0.0.1")
    listener.close()
    assert not Path(listener.place.unix).parent.exists()
    for address in (f"unix:{listener.place.unix}", listener.place.tcp):
        with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
            connect(address)
    listener.close()  # a second time


@pytest.mark.usefixtures("short")
def test_workers_of_other_machines_connect_by_a_port() -> None:
    listener = Listener("127.0.0.1")
    assert listener.place.unix
    connect(listener.place.tcp).close()
    listener.close()


def test_a_path_that_is_too_long_for_a_socket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Systems take 104 to 108 bytes: a port of the loopback takes its place."""
    directory = tmp_path / ("d" * 100)
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    listener = Listener()
    assert listener.place.unix == ""
    assert listener.place.tcp.startswith("127.0.0.1:")
    connect(listener.place.tcp).close()
    listener.close()
    assert not list(directory.iterdir())
