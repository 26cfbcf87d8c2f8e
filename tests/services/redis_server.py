"""Redis: the server of the Debian package, with a password if wanted, as a cluster or with TLS."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from debian import DebianPackages, debian_packages
from service import Service, free_ports


class RedisServer(Service):
    """One server that writes each command to its disk before it answers."""

    name: ClassVar[str] = "Redis"
    command: ClassVar[str] = "redis"
    fixture: ClassVar[str] = "redis_server"
    stop_seconds: ClassVar[float] = 0

    @classmethod
    def install(cls) -> None:
        _packages()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"REDIS_URL": self.url}

    def start(self) -> None:
        [self.port] = free_ports(1)
        self.run({"port": self.port, "appendonly": "yes", "appendfsync": "always"})
        self.wait_until(lambda: self.answers(self.port))

    def run(self, options: Mapping[str, object]) -> None:
        """Start a process with these options besides those that all have."""
        packages = _packages()
        common = {"bind": "127.0.0.1", "dir": self.directory, "save": "", **options}
        words = [word for name, value in common.items() for word in (f"--{name}", str(value))]
        self.spawn([packages.path("usr/bin/redis-server"), *words], packages.environment)

    def run_sentinel(self, settings: Path) -> None:
        """Start a sentinel, which writes to its settings."""
        packages = _packages()
        command = [packages.path("usr/bin/redis-server"), settings, "--sentinel"]
        self.spawn(command, packages.environment)

    @staticmethod
    def answers(port: int) -> bool:
        """Whether a server there has loaded its data."""
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(b"PING\r\n")
            said = connection.recv(100)
            return said.startswith((b"+PONG", b"-NOAUTH"))

    def restart(self) -> None:
        """kill -9, and start it again at the same place with what it had on its disk."""
        self.kill()
        self.run({"port": self.port, "appendonly": "yes", "appendfsync": "always"})
        self.wait_until(lambda: self.answers(self.port))


def _packages() -> DebianPackages:
    return debian_packages("redis", "redis-server")
