"""HDFS: a namenode and two datanodes from the jars of Maven Central."""

from __future__ import annotations

import http.client
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from service import Service, cache_directory, free_ports, install_lock, run_installer

VERSION = "3.4.1"
_DEPENDENCIES = {
    "org.apache.hadoop:hadoop-client-minicluster": VERSION,
    "org.apache.hadoop:hadoop-client-runtime": VERSION,
    "org.slf4j:slf4j-simple": "1.7.36",
}
_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_DATANODES = 2


class Hdfs(Service):
    """Every block is on both datanodes, each a process of its own, as the namenode is."""

    name: ClassVar[str] = "HDFS (Hadoop)"
    command: ClassVar[str] = "hdfs"
    fixture: ClassVar[str] = "hdfs"
    stop_seconds: ClassVar[float] = 0

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.port = 0
        self._http_port = 0

    @classmethod
    def install(cls) -> None:
        home = _home()
        done = home / ".installed"
        with install_lock(home.name):
            if not done.exists():
                _install(home)
                done.touch()

    @property
    def url(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"HDFS_URL": self.url}

    def start(self) -> None:
        self.port, self._http_port = free_ports(2)
        namenode = self._configure("namenode")
        run_installer([*_java(namenode), _NAMENODE, "-format", "-nonInteractive"])
        self.start_namenode()
        for number in range(_DATANODES):
            configuration = self._configure(f"datanode-{number}")
            self.spawn([*_java(configuration), _DATANODE])
        self.wait_until(self._is_ready, seconds=120)

    def start_namenode(self) -> None:
        """Start it, again if it was killed; it keeps its data and its port."""
        configuration = self.directory / "namenode"
        self._namenode = self.spawn([*_java(configuration), _NAMENODE])

    def restart_namenode(self) -> None:
        """Kill it as a power failure does, start it again, wait until it can be written to."""
        self._namenode.kill()
        self._namenode.wait()
        self._processes.remove(self._namenode)
        self.start_namenode()
        self.wait_until(self._is_ready, seconds=120)

    def _configure(self, node: str) -> Path:
        """The directory of a node's configuration, beside which it keeps its data."""
        directory = self.directory / node
        directory.mkdir()
        data = directory / "data"
        settings = {
            "dfs.replication": _DATANODES,
            "dfs.namenode.name.dir": data,
            "dfs.datanode.data.dir": data,
            "dfs.namenode.http-address": f"127.0.0.1:{self._http_port}",
            "dfs.datanode.address": "127.0.0.1:0",
            "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.file.close.num-committed-allowed": 1,
            "dfs.namenode.safemode.extension": 0,
            "dfs.datanode.du.reserved": 0,
            "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
        }
        _write_settings(directory / "core-site.xml", {"fs.defaultFS": self.url})
        _write_settings(directory / "hdfs-site.xml", settings)
        return directory

    def _is_ready(self) -> bool:
        state = self._bean("FSNamesystemState")
        return state["NumLiveDataNodes"] == _DATANODES and state["FSState"] == "Operational"

    def _bean(self, name: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._http_port, timeout=5)
        try:
            connection.request("GET", f"/jmx?qry=Hadoop:service=NameNode,name={name}")
            beans = json.loads(connection.getresponse().read())["beans"]
        finally:
            connection.close()
        if not beans:
            raise OSError(f"the namenode has no {name} yet")
        return beans[0]


def _write_settings(file: Path, settings: Mapping[str, Any]) -> None:
    lines = (
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in settings.items()
    )
    file.write_text(f"<configuration>\n{''.join(lines)}</configuration>\n")


def _home() -> Path:
    return cache_directory() / f"hadoop-{VERSION}"


def _java(configuration: Path) -> list[str]:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java") or "java"
    memory = ["-Xms48m", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    log = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [java, *memory, "-XX:-UsePerfData", log, "-cp", f"{configuration}:{_home()}/*"]


def _install(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
        "</dependency>".format(*name.split(":"), version)
        for name, version in _DEPENDENCIES.items()
    )
    project = home / "pom.xml"
    project.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>tests</groupId><artifactId>hdfs</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={home}"]
    run_installer(["mvn", "-q", "-B", "-f", project, *goal])
