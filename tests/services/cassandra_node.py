"""Cassandra: one node from the jars of Maven Central, with a small heap."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from service import Service, cache_directory, free_ports, install_lock, run_installer

VERSION = "5.0.6"
_OPENED = (
    *("java.base/java.io", "java.base/java.lang", "java.base/java.lang.module"),
    *("java.base/java.lang.reflect", "java.base/java.net", "java.base/java.nio"),
    *("java.base/java.util", "java.base/java.util.concurrent", "java.base/sun.nio.ch"),
    *("java.base/java.util.concurrent.atomic", "java.base/jdk.internal.loader"),
    *("java.base/jdk.internal.misc", "java.base/jdk.internal.ref", "java.base/jdk.internal.math"),
    *("java.base/jdk.internal.reflect", "java.base/jdk.internal.util.jar"),
    *("java.base/jdk.internal.module", "java.base/jdk.internal.perf", "java.sql/java.sql"),
    *("java.base/jdk.internal.util", "java.management/javax.management"),
    *("java.management/com.sun.jmx.mbeanserver", "java.management/sun.management"),
    "jdk.management/com.sun.management.internal",
)
"""Java's insides, which it reads its own memory with."""
_LOGGING = """<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %p %c: %m%n</pattern></encoder>
  </appender>
  <root level="ERROR"><appender-ref ref="OUT"/></root>
</configuration>
"""


class CassandraNode(Service):
    """A cluster of one node with a user, which syncs its log before it acknowledges."""

    name: ClassVar[str] = "Cassandra"
    command: ClassVar[str] = "cassandra"
    fixture: ClassVar[str] = "cassandra_node"
    stop_seconds: ClassVar[float] = 0
    user: ClassVar[str] = "cassandra"
    password: ClassVar[str] = "cassandra"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.port = 0

    @classmethod
    def install(cls) -> None:
        home = _home()
        done = home / ".installed"
        with install_lock(home.name):
            if not done.exists():
                _install(home)
                done.touch()

    @property
    def environment(self) -> Mapping[str, str]:
        return {"CASSANDRA_HOST": "127.0.0.1", "CASSANDRA_PORT": str(self.port)}

    def start(self) -> None:
        self.port, storage = free_ports(2)
        configuration = self.directory / "config"
        configuration.mkdir()
        (configuration / "logback.xml").write_text(_LOGGING)
        settings = {
            "cluster_name": "tests",
            "num_tokens": 1,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "seed_provider": "[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, "
            f"parameters: [{{seeds: '127.0.0.1:{storage}'}}]}}]",
            "listen_address": "127.0.0.1",
            "rpc_address": "127.0.0.1",
            "storage_port": storage,
            "native_transport_port": self.port,
            "endpoint_snitch": "SimpleSnitch",
            "commitlog_sync": "batch",
            "commitlog_segment_size": "4MiB",
            "authenticator": "PasswordAuthenticator",
            "authorizer": "CassandraAuthorizer",
        }
        lines = [f"{name}: {value}\n" for name, value in settings.items()]
        (configuration / "cassandra.yaml").write_text("".join(lines))
        self.resume()

    def resume(self) -> None:
        """Start it again after `kill`, on the same port, with its data."""
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else shutil.which("java") or "java"
        memory = ["-Xms384m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        configuration = self.directory / "config"
        properties = {
            "jdk.attach.allowAttachSelf": "true",
            "cassandra.config": f"file://{configuration}/cassandra.yaml",
            "cassandra.storagedir": self.directory,
            "cassandra.skip_wait_for_gossip_to_settle": 0,
            "cassandra.ring_delay_ms": 0,
            "cassandra.superuser_setup_delay_ms": 0,
            "cassandra-foreground": "yes",
        }
        opened = [word for name in _OPENED for word in _open(name)]
        settings = [f"-D{name}={value}" for name, value in properties.items()]
        command = [java, *memory, *opened, *settings, "-cp", f"{configuration}:{_home()}/lib/*"]
        self.spawn([*command, "org.apache.cassandra.service.CassandraDaemon"])
        self.wait_until(self._accepts, seconds=180)

    def _accepts(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), 5):
            return True

    def kill(self) -> None:
        """kill -9."""
        for process in self._processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self._processes.clear()

    def session(self) -> Any:
        """A session of its user; whoever asks shuts its cluster down."""
        from cassandra.auth import PlainTextAuthProvider
        from cassandra.cluster import Cluster, NoHostAvailable

        user = PlainTextAuthProvider(self.user, self.password)
        sessions: list[Any] = []

        def connects() -> bool:
            cluster = Cluster(["127.0.0.1"], port=self.port, auth_provider=user)
            try:
                sessions.append(cluster.connect())
            except NoHostAvailable:  # its user is made when it already answers
                cluster.shutdown()
            return bool(sessions)

        self.wait_until(connects)
        return sessions[0]


def _open(name: str) -> list[str]:
    return ["--add-opens", f"{name}=ALL-UNNAMED", "--add-exports", f"{name}=ALL-UNNAMED"]


def _home() -> Path:
    return cache_directory() / f"cassandra-{VERSION}"


def _install(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    project = home / "pom.xml"
    project.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>tests</groupId><artifactId>cassandra</artifactId><version>1</version>"
        "<dependencies><dependency><groupId>org.apache.cassandra</groupId>"
        f"<artifactId>cassandra-all</artifactId><version>{VERSION}</version></dependency>"
        "</dependencies></project>"
    )
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    run_installer(["mvn", "-q", "-B", "-f", project, *goal, f"-DoutputDirectory={home / 'lib'}"])
