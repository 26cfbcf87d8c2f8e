"""Starts the servers that tests use, on loopback, until interrupted: ``make services``.

Arguments: names of servers (as in `SERVICES`), or none for all of them. ``--install``: no start.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
from pathlib import Path

from azurite import Azurite
from cassandra_node import CassandraNode
from chromium import Chromium
from ferretdb import FerretDB
from gcs_server import GcsServer
from hdfs import Hdfs
from kafka_broker import KafkaBroker
from kinesalite import Kinesalite
from mariadb_server import MariaDB
from mosquitto import Mosquitto
from opensearch import OpenSearch
from postgresql import PostgreSQL
from prometheus_server import PrometheusServer
from pulsar_standalone import PulsarStandalone
from rabbitmq_server import RabbitMQServer
from redis_server import RedisServer
from seaweedfs import SeaweedFS
from service import Service, ServiceUnavailableError
from zookeeper_server import ZooKeeperServer

SERVICES: dict[str, type[Service]] = {
    "azure": Azurite,
    "cassandra": CassandraNode,
    "chromium": Chromium,
    "gcs": GcsServer,
    "hdfs": Hdfs,
    "kafka": KafkaBroker,
    "kinesis": Kinesalite,
    "mariadb": MariaDB,
    "mongodb": FerretDB,
    "opensearch": OpenSearch,
    "mqtt": Mosquitto,
    "prometheus": PrometheusServer,
    "postgresql": PostgreSQL,
    "pulsar": PulsarStandalone,
    "rabbitmq": RabbitMQServer,
    "redis": RedisServer,
    "s3": SeaweedFS,
    "zookeeper": ZooKeeperServer,
}


def main(arguments: list[str]) -> int:
    names = [name for name in arguments if name in SERVICES] or list(SERVICES)
    unknown = set(arguments) - set(SERVICES) - {"--install"}
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SERVICES)}")
        return 2
    if "--install" in arguments:
        return max(_install(name) for name in names)
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as directory:
        failed = [_start(name, Path(directory), stack) for name in names].count(False)
        if failed == len(names):
            return 1
        print("# running until you press Ctrl-C", flush=True)
        signal.sigwait([signal.SIGINT, signal.SIGTERM])
        stack.close()
    return 0


def _install(name: str) -> int:
    try:
        SERVICES[name].install()
    except ServiceUnavailableError as error:
        print(f"{SERVICES[name].name}: {error}", file=sys.stderr)
        return 1
    return 0


def _start(name: str, directory: Path, stack: contextlib.ExitStack) -> bool:
    try:
        service = stack.enter_context(SERVICES[name](directory / name))
    except ServiceUnavailableError as error:
        print(f"# {SERVICES[name].name}: {error}", flush=True)
        return False
    print(f"# {service.name}", flush=True)
    for variable, value in service.environment.items():
        print(f"export {variable}={value}", flush=True)
    return True


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    sys.exit(main(sys.argv[1:]))
