"""Apache Kafka: brokers in KRaft mode from the jars of Maven Central, no ZooKeeper."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from service import Service, cache_directory, free_ports, install_lock, run_installer

VERSION = "4.1.0"
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
_PROJECT = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId>
  <artifactId>kafka-broker</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


class KafkaBroker(Service):
    """One broker that is its own controller; `KafkaCluster` has more."""

    name: ClassVar[str] = "Kafka"
    command: ClassVar[str] = "kafka"
    fixture: ClassVar[str] = "kafka_broker"
    stop_seconds: ClassVar[float] = 0
    nodes: ClassVar[int] = 1
    protocol: ClassVar[str] = "PLAINTEXT"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._ports: list[int] = []
        self._controllers: list[int] = []
        self._between: list[int] = []
        self._brokers: dict[int, subprocess.Popen[bytes]] = {}

    @classmethod
    def install(cls) -> None:
        directory = _installed()
        done = directory / ".installed"
        with install_lock(directory.name):
            if not done.exists():
                directory.mkdir(parents=True, exist_ok=True)
                project = directory / "pom.xml"
                project.write_text(_PROJECT)
                goal = ["dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
                run_installer(["mvn", "-q", "-B", "-f", project, *goal])
                done.touch()

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports)

    @property
    def environment(self) -> Mapping[str, str]:
        return {"KAFKA_BOOTSTRAP_SERVERS": self.bootstrap_servers}

    def start(self) -> None:
        ports = free_ports(3 * self.nodes)
        self._ports, self._controllers, self._between = ports[::3], ports[1::3], ports[2::3]
        for node in range(self.nodes):
            self._format(node)
        for node in range(self.nodes):
            self.start_node(node)
        self.wait_until(lambda: all(map(_listens, self._ports)))

    def start_node(self, node: int) -> None:
        """Start a broker, again if it was killed; it keeps its data and its port."""
        self._brokers[node] = self.spawn([*_java(), "kafka.Kafka", self._properties(node)])

    def kill_node(self, node: int) -> None:
        """End a broker as a power failure does."""
        broker = self._brokers.pop(node)
        broker.kill()
        broker.wait()
        self._processes.remove(broker)

    def restart_node(self, node: int) -> None:
        """Kill a broker, start it again, wait until it answers."""
        self.kill_node(node)
        self.start_node(node)
        self.wait_until(lambda: _listens(self._ports[node]))

    def _properties(self, node: int) -> Path:
        return self.directory / f"node-{node}.properties"

    def _format(self, node: int) -> None:
        lines = [f"{name}={value}\n" for name, value in self.options(node).items()]
        self._properties(node).write_text("".join(lines))
        command = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, *self.format_arguments()]
        run_installer([*_java(), *command, "-c", self._properties(node)])

    def format_arguments(self) -> list[str]:
        """More for the tool that prepares a node's directory."""
        return []

    def options(self, node: int) -> Mapping[str, Any]:
        """The properties of a node."""
        copies = min(3, self.nodes)
        voters = ",".join(f"{i}@127.0.0.1:{port}" for i, port in enumerate(self._controllers))
        clients = f"CLIENT://127.0.0.1:{self._ports[node]}"
        return {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": voters,
            "listeners": (
                f"{clients},BROKER://127.0.0.1:{self._between[node]},"
                f"CONTROLLER://127.0.0.1:{self._controllers[node]}"
            ),
            "advertised.listeners": f"{clients},BROKER://127.0.0.1:{self._between[node]}",
            "inter.broker.listener.name": "BROKER",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": (
                f"CLIENT:{self.protocol},BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT"
            ),
            "log.dirs": self.directory / f"node-{node}",
            "auto.create.topics.enable": "false",
            "default.replication.factor": copies,
            "min.insync.replicas": max(1, copies - 1),
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": max(1, copies - 1),
            "transaction.state.log.num.partitions": 1,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
            "group.initial.rebalance.delay.ms": 0,
            "log.retention.ms": -1,  # time stamps of tests are long ago
            "num.io.threads": 2,
            "num.network.threads": 2,
        }


class KafkaCluster(KafkaBroker):
    """Three brokers: what was acknowledged outlives the loss of one."""

    name: ClassVar[str] = "Kafka (three brokers)"
    nodes: ClassVar[int] = 3


def _installed() -> Path:
    return cache_directory() / f"kafka-{VERSION}"


def _java() -> list[str]:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java") or "java"
    memory = ["-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [java, *memory, "-XX:-UsePerfData", "-cp", f"{_installed()}/*"]


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
