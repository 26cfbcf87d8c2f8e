"""Apache ZooKeeper: one server from the jars of Maven Central."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from maven import java, maven_jars
from service import Service, free_ports

VERSION = "3.9.4"
_ARTIFACTS = (
    f"org.apache.zookeeper:zookeeper:{VERSION}",
    # the server needs them, and says so only to those who build it
    "io.dropwizard.metrics:metrics-core:4.1.12.1",
    "org.xerial.snappy:snappy-java:1.1.10.5",
)
_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_TICK = 500
"""Milliseconds; a session may be as short as two of them."""


class ZooKeeperServer(Service):
    """An ensemble of one, which keeps its data when it is killed and started again."""

    name: ClassVar[str] = "ZooKeeper"
    command: ClassVar[str] = "zookeeper"
    fixture: ClassVar[str] = "zookeeper"
    stop_seconds: ClassVar[float] = 0

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def install(cls) -> None:
        _jars()

    @property
    def quorum(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"ZOOKEEPER_QUORUM": self.quorum}

    def start(self) -> None:
        (self.port,) = free_ports(1)
        settings = {
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "dataDir": self.directory / "data",
            "tickTime": _TICK,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "ruok",
        }
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        self._configuration.write_text("".join(lines))
        self.start_again()

    def start_again(self) -> None:
        """Start it after it was killed; it keeps its port and its nodes."""
        self._process = self.spawn([*java(f"{_jars()}/*"), _MAIN, self._configuration])
        self.wait_until(self._is_ok)

    def pause(self) -> None:
        """Let it hear and say nothing until `resume`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    @property
    def _configuration(self) -> Path:
        return self.directory / "zoo.cfg"

    def _is_ok(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
            connection.sendall(b"ruok")
            return connection.recv(8) == b"imok"


def _jars() -> Path:
    return maven_jars(f"zookeeper-{VERSION}", *_ARTIFACTS)
