"""Connectors whose packages are not installed: imported without them, and told of in a sentence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from millrace.common.errors import ConfigurationError
from millrace.connectors.cassandra.client import import_cassandra
from millrace.connectors.delta.table import DeltaOptions
from millrace.connectors.errors import ConnectorError
from millrace.connectors.iceberg.table import IcebergOptions
from millrace.connectors.kafka.client import import_confluent_kafka
from millrace.connectors.mongodb.client import import_pymongo
from millrace.connectors.mqtt.connection import import_paho
from millrace.connectors.postgres_cdc.connection import import_psycopg
from millrace.connectors.rabbitmq.connection_config import import_pika
from millrace.connectors.redis.client import import_redis

PACKAGES = [
    ("psycopg", "postgres-cdc", import_psycopg),
    ("redis", "redis", import_redis),
    ("pymongo", "mongodb", import_pymongo),
    ("cassandra", "cassandra", import_cassandra),
    ("pika", "rabbitmq", import_pika),
    ("paho.mqtt.client", "mqtt", import_paho),
    ("confluent_kafka", "kafka", import_confluent_kafka),
]


@pytest.mark.parametrize(("package", "extra", "load"), PACKAGES)
def test_a_missing_package_is_named(
    package: str, extra: str, load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConnectorError, match=rf"every worker: pip install 'millrace\[{extra}\]'"):
        load()


@pytest.mark.parametrize(
    ("package", "extra", "load"),
    [
        ("deltalake", "delta", DeltaOptions("/tables/t").open),
        ("pyiceberg.catalog", "iceberg", IcebergOptions("shop.t", {}).open),
    ],
    ids=["delta", "iceberg"],
)
def test_a_missing_package_of_tables_is_named(
    package: str, extra: str, load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = package.partition(".")[0]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ConfigurationError, match=rf"need the package {name}: pip install 'millrace\[{extra}\]'$"
    ):
        load()


def test_packages_are_imported_only_when_used() -> None:
    program = (
        "import sys, millrace.connectors.redis, millrace.connectors.mqtt\n"
        "import millrace.datastream.connectors.postgres_cdc\n"
        "import millrace.datastream.connectors.cassandra, millrace.datastream.connectors.mongodb\n"
        "import millrace.datastream.connectors.rabbitmq, millrace.datastream.connectors.kafka\n"
        "import millrace.connectors.delta, millrace.connectors.iceberg\n"
        "names = ('confluent_kafka', 'deltalake', 'pyiceberg', 'redis', 'pika', 'paho', 'psycopg',"
        " 'pymongo', 'bson', 'cassandra')\n"
        "print([name for name in names if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
