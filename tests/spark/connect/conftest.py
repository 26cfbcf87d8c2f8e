"""One Spark Connect server for the tests of this directory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from connect_server import ConnectServerProcess

SOURCES = Path(__file__).resolve().parents[3] / "src"


@pytest.fixture(scope="session")
def connect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server with three slots."""
    pytest.importorskip("grpc")
    server = ConnectServerProcess(tmp_path_factory.mktemp("connect"), [str(SOURCES)])
    server.wait()
    yield server.url
    server.stop()
