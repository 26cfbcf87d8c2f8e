"""Pulsar: a broker with its bookie in one process, from the jars of Maven Central."""

from __future__ import annotations

import json
import os
import shutil
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from service import Service, cache_directory, free_ports, install_lock, run_installer

VERSION = "4.0.8"
_CENTRAL = "https://repo.maven.apache.org/maven2"
_PROJECT = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId>
  <artifactId>pulsar</artifactId>
  <version>1</version>
  <repositories>
    <repository><id>confluent</id><url>{_CENTRAL}</url></repository>
    <repository><id>maven.restlet.org</id><url>{_CENTRAL}</url></repository>
  </repositories>
  <dependencyManagement>
    <dependencies>
      <dependency>
        <groupId>org.apache.pulsar</groupId>
        <artifactId>pulsar-opentelemetry</artifactId>
        <version>4.0.7</version>
      </dependency>
    </dependencies>
  </dependencyManagement>
  <dependencies>
    <dependency>
      <groupId>org.apache.pulsar</groupId>
      <artifactId>pulsar-broker</artifactId>
      <version>{VERSION}</version>
      <exclusions>
        <exclusion>
          <groupId>org.apache.pulsar</groupId>
          <artifactId>jetcd-core-shaded</artifactId>
        </exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
"""
"""Without the client of etcd, which it does not use here, and with nothing from elsewhere than
Maven Central, where one artifact is of the version before."""
_OPENED = (
    *("java.base/java.io", "java.base/java.lang", "java.base/java.net", "java.base/java.nio"),
    *("java.base/java.util.zip", "java.base/jdk.internal.loader", "java.base/jdk.internal.misc"),
    *("java.base/jdk.internal.platform", "java.base/sun.net", "java.base/sun.nio.ch"),
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)
_LOGGING = """<Configuration>
  <Appenders><Console name="out"><PatternLayout pattern="%d %p %c: %m%n"/></Console></Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


class PulsarStandalone(Service):
    """One broker that drops duplicates by their sequence ids, and makes no topics by itself."""

    name: ClassVar[str] = "Pulsar"
    command: ClassVar[str] = "pulsar"
    fixture: ClassVar[str] = "pulsar_standalone"
    stop_seconds: ClassVar[float] = 0

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.port = self._web_port = self._bookie_port = 0

    @classmethod
    def install(cls) -> None:
        home = _home()
        done = home / ".installed"
        with install_lock(home.name):
            if not done.exists():
                home.mkdir(parents=True, exist_ok=True)
                (home / "pom.xml").write_text(_PROJECT)
                goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
                where = f"-DoutputDirectory={home / 'lib'}"
                run_installer(["mvn", "-q", "-B", "-f", home / "pom.xml", *goal, where])
                done.touch()

    @property
    def url(self) -> str:
        return f"pulsar://127.0.0.1:{self.port}"

    @property
    def admin_url(self) -> str:
        return f"http://127.0.0.1:{self._web_port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"PULSAR_URL": self.url, "PULSAR_ADMIN_URL": self.admin_url}

    def options(self) -> Mapping[str, Any]:
        """The properties of the broker."""
        return {
            "clusterName": "standalone",
            "brokerServicePort": self.port,
            "webServicePort": self._web_port,
            "bindAddress": "127.0.0.1",
            "advertisedAddress": "127.0.0.1",
            "managedLedgerDefaultEnsembleSize": 1,
            "managedLedgerDefaultWriteQuorum": 1,
            "managedLedgerDefaultAckQuorum": 1,
            "managedLedgerCacheSizeMB": 32,
            "brokerDeduplicationEnabled": "true",
            "allowAutoTopicCreation": "false",
            "loadBalancerEnabled": "false",
            "systemTopicEnabled": "true",
            "topicLevelPoliciesEnabled": "true",
            "numIOThreads": 2,
            "numHttpServerThreads": 8,
            "bookiePort": self._bookie_port,
            "journalSyncData": "false",
            "allowLoopback": "true",
            "httpServerEnabled": "false",
            "diskUsageThreshold": 0.99,
            "diskUsageWarnThreshold": 0.99,
            "dbStorage_writeCacheMaxSizeMb": 16,
            "dbStorage_readAheadCacheMaxSizeMb": 16,
        }

    def start(self) -> None:
        self.port, self._web_port, self._bookie_port = free_ports(3)
        lines = [f"{name}={value}\n" for name, value in self.options().items()]
        (self.directory / "standalone.conf").write_text("".join(lines))
        (self.directory / "log4j2.xml").write_text(_LOGGING)
        self.resume()

    def resume(self) -> None:
        """Start it again after `kill`, on the same ports, with its data."""
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else shutil.which("java") or "java"
        memory = ["-Xms128m", "-Xmx384m", "-XX:MaxDirectMemorySize=384m", "-XX:+UseSerialGC"]
        opened = [word for name in _OPENED for word in ("--add-opens", f"{name}=ALL-UNNAMED")]
        settings = [
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            f"-Dlog4j2.configurationFile={self.directory}/log4j2.xml",
            "-Dio.netty.tryReflectionSetAccessible=true",
            "-Dpulsar.allocator.exit_on_oom=true",
        ]
        command = [java, *memory, *settings, *opened, "-cp", f"{_home()}/lib/*"]
        command += ["org.apache.pulsar.PulsarStandaloneStarter"]
        command += ["--config", self.directory / "standalone.conf", "-nfw", "-nss"]
        command += ["--metadata-dir", self.directory / "metadata"]
        command += ["--bookkeeper-dir", self.directory / "bookie"]
        command += ["--bookkeeper-port", str(self._bookie_port)]
        self.spawn([str(word) for word in command])
        self.wait_until(self._is_ready, seconds=180)

    def restart(self) -> None:
        """kill -9, then start it again."""
        self.kill()
        self.resume()

    def _is_ready(self) -> bool:
        return "public/default" in self.ask("GET", "namespaces/public")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """A request to its administration."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        url = f"{self.admin_url}/admin/v2/{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = answer.read()
        return json.loads(said) if said else None

    def create_topic(self, name: str, partitions: int = 0) -> str:
        """A new topic; its full name."""
        path = f"persistent/public/default/{name}"
        if partitions:
            self.ask("PUT", f"{path}/partitions", partitions)
        else:
            self.ask("PUT", path)
        return f"persistent://public/default/{name}"


def _home() -> Path:
    return cache_directory() / f"pulsar-{VERSION}"
