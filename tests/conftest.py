"""What tests of several rooms share."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "stores"))
sys.path.insert(0, str(Path(__file__).parent / "services"))
sys.path.insert(0, str(Path(__file__).parent / "runs"))

import by_file
import drawn
import frozen_objects
import hang_dump
import imported_once
import job_threads
import logging_state
import same_draws  # noqa: F401
import spark_started
import turns
import unflushed_files  # noqa: F401
import watchdog
from azurite import Azurite
from costs import record_costs
from gcs_server import GcsServer
from hdfs import Hdfs
from hypothesis import settings
from object_store import ObjectStore
from running import fixture_of, unavailable
from seaweedfs import SeaweedFS
from service import all_services

from millrace.filesystem import registry
from millrace.filesystem.file_system import FileSystem
from millrace.filesystem.registry import register_file_system

SOURCES = Path(__file__).resolve().parent.parent / "src"
EXAMPLES = SOURCES.parent / "examples"
APPLICATIONS = [str(EXAMPLES / name) for name in ("fraud", "cleanup", "sessions", "sensors")]
"""Their jobs' workers import from here."""

# the tests' JVMs start quickly, too, and leave nothing behind in the user's cache
os.environ.setdefault("MILLRACE_CLASS_ARCHIVE", str(SOURCES.parent / ".pytest_cache" / "jvm"))
# a JVM that lives for seconds spends a third of its processor time in the second compiler
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# a test that waits for a busy machine is not wrong
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", metavar="DIRECTORY", help="write what each file of tests costs")


def pytest_configure(config: pytest.Config) -> None:
    record_costs(config)
    watchdog.pytest_configure(config)
    hang_dump.pytest_configure(config)
    config.pluginmanager.register(by_file)
    config.pluginmanager.register(frozen_objects)
    config.pluginmanager.register(imported_once)
    config.pluginmanager.register(logging_state)
    config.pluginmanager.register(job_threads)
    config.pluginmanager.register(spark_started)
    config.pluginmanager.register(turns)
    config.pluginmanager.register(drawn)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that failed is found again by its name."""
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"names with an address in memory: {', '.join(unstable)}")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test run: two cores, four attempts per task as on a cluster."""
    from pyspark.sql import SparkSession

    from millrace.spark.session import active_context, create_session

    # an application that a job of another test has left has as many slots as that job needed
    left = active_context()
    if left is not None:
        SparkSession(left).stop()
    # pytest's own search path does not reach the Python workers
    paths = [str(SOURCES), *APPLICATIONS, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    session = create_session("tests", parallelism=2, master="local[2,4]")
    yield session
    session.stop()


# every module of `tests/services` brings its fixture along: kafka_broker, postgresql, s3_server...
for _kind in all_services():
    globals()[_kind.fixture] = fixture_of(_kind)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tests without their server are told of at the very end, too."""
    for name, reason in unavailable.items():
        terminalreporter.write_sep("!", f"tests that need {name} did not run", red=True)
        terminalreporter.write_line(reason)


@pytest.fixture
def object_store(monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """What serves ``memory://`` during a test."""
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(registry, "_made", {})
    store = ObjectStore()
    register_file_system("memory", lambda: store)
    return store


@pytest.fixture(scope="session")
def _s3_file_system(s3_server: SeaweedFS) -> FileSystem:
    """One for all tests: its clients take their time to be made."""
    return registry._s3()


@pytest.fixture
def s3_root(
    s3_server: SeaweedFS, _s3_file_system: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> str:
    """An empty directory of the S3 server, with the environment variables by which it is found."""
    for variable, value in s3_server.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(registry, "_made", {"s3": _s3_file_system})
    return f"s3://{s3_server.bucket}/{uuid.uuid4().hex}"


@pytest.fixture
def azure_root(azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty directory of it, with the environment variables by which it is found."""
    for variable, value in azurite.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(registry, "_made", {})
    return f"{azurite.root}/{uuid.uuid4().hex}"


@pytest.fixture
def gcs_root(gcs_server: GcsServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty directory of it, with the environment variables by which it is found."""
    for variable, value in gcs_server.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(registry, "_made", {})
    return f"gs://{gcs_server.bucket}/{uuid.uuid4().hex}"


@pytest.fixture
def hdfs_root(hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty directory of it."""
    monkeypatch.setattr(registry, "_made", {})
    return f"{hdfs.url}/{uuid.uuid4().hex}"


@pytest.fixture
def staged_root(monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty directory of a store that has no multipart uploads of its own."""
    from obstore.store import MemoryStore

    from millrace.filesystem.object_stores.bucket import ObjectClients
    from millrace.filesystem.object_stores.file_system import ObjectStoreFileSystem
    from millrace.filesystem.object_stores.staged_uploads import StagedUploads

    store: Any = MemoryStore()
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(registry, "_made", {})
    clients = ObjectClients(store, store, StagedUploads(store))
    register_file_system("staged", lambda: ObjectStoreFileSystem(lambda bucket: clients))
    return "staged://bucket/some"


AZURE = pytest.param("azure", marks=pytest.mark.connectors)
"""Its emulator is 365 MB of packages."""
HDFS = pytest.param("hdfs", marks=pytest.mark.connectors)


@pytest.fixture(params=["local", "object store", "staged", "s3", "gcs", AZURE, HDFS])
def store_root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A directory to write to: on the disk, in an object store in memory, on an S3 server."""
    if request.param == "local":
        return str(tmp_path)
    if request.param in ("s3", "staged", "gcs", "azure", "hdfs"):
        root: str = request.getfixturevalue(f"{request.param}_root")
        return root
    request.getfixturevalue("object_store")
    return "memory://bucket/some"
