"""What tests of several rooms share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "stores"))

from object_store import ObjectStore

from millrace.filesystem import registry
from millrace.filesystem.registry import register_file_system

SOURCES = Path(__file__).resolve().parent.parent / "src"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test run: two cores, four attempts per task as on a cluster."""
    from millrace.spark.session import create_session

    # pytest's own search path does not reach the Python workers
    paths = [str(SOURCES), os.environ.get("PYTHONPATH", "")]
    # the tests' JVMs leave nothing behind in the user's cache
    os.environ.setdefault("MILLRACE_CLASS_ARCHIVE", "off")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    session = create_session("tests", parallelism=2, master="local[2,4]")
    yield session
    session.stop()


@pytest.fixture
def object_store(monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """What serves ``memory://`` during a test."""
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(registry, "_made", {})
    store = ObjectStore()
    register_file_system("memory", lambda: store)
    return store


@pytest.fixture(params=["local", "object store"])
def store_root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A directory to write to: on the disk, then in an object store."""
    if request.param == "local":
        return str(tmp_path)
    request.getfixturevalue("object_store")
    return "memory://bucket/some"
