"""PostgreSQL: the machine's own if it is new enough, else Debian's; with logical replication."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from debian import debian_packages
from sql_server import SqlServer
from unprivileged import unprivileged

OLDEST = 14
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)


class PostgreSQL(SqlServer):
    """One server; rows are lines with ``|`` between columns."""

    name: ClassVar[str] = "PostgreSQL"
    command: ClassVar[str] = "postgresql"
    fixture: ClassVar[str] = "postgresql"
    main_database: ClassVar[str] = "postgres"

    @classmethod
    def install(cls) -> None:
        _installed()

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGPASSWORD": self.password,
            "PGDATABASE": "postgres",
        }

    def url(self, database: str = "postgres") -> str:
        """Address of a database, with user and password."""
        return f"postgresql://{self.user}:{self.password}@127.0.0.1:{self.port}/{database}"

    def client(self, statement: str, database: str) -> tuple[list[str | Path], dict[str, str]]:
        options = ["--no-psqlrc", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        command = [_installed().programs / "psql", *options, "-d", database, "-c", statement]
        return command, {**os.environ, **_installed().environment, **self.environment}

    def start(self) -> None:
        password = self.directory / "password"
        password.write_text(self.password)
        options = ["-U", self.user, f"--pwfile={password}", "-A", "scram-sha-256", "--no-sync"]
        text = ["--encoding=UTF8", "--locale=C"]
        command = [_installed().programs / "initdb", "-D", self._data, *options, *text]
        self.initialise(command, _installed().environment)
        self.resume()

    def resume(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "wal_level": "logical",
            "max_replication_slots": 32,
            "max_wal_senders": 32,
            "max_connections": 64,
            # its processes are killed, the machine is not
            "fsync": "off",
            "full_page_writes": "off",
            "shared_buffers": "64MB",
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [_installed().programs / "postgres", "-D", self._data, *words]
        self.spawn(unprivileged(command, self._data), _installed().environment)
        self.wait_until(self._answers)

    def kill(self) -> None:
        """End it as a crash does: what was committed is recovered by `resume`."""
        for process in self._processes:
            process.send_signal(signal.SIGQUIT)
            process.wait()
        self._processes.clear()

    def stop(self) -> None:
        self.kill()  # any other way, it waits for its clients
        super().stop()

    def _answers(self) -> bool:
        """It listens; while it starts or recovers it closes connections at once."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(_SSL_REQUEST)
            if not connection.recv(1):
                return False
        return self.answers()


@dataclass(frozen=True)
class _Installed:
    programs: Path
    environment: Mapping[str, str]


@functools.cache
def _installed() -> _Installed:
    own = shutil.which("postgres")
    beside = [Path(own).resolve().parent] if own else []
    for directory in [*beside, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]:
        if (directory / "initdb").exists() and _version(directory / "postgres") >= OLDEST:
            return _Installed(directory, {})
    packages = debian_packages("postgresql", "postgresql")
    return _Installed(packages.path("usr/lib/postgresql/*/bin"), packages.environment)


def _version(server: Path) -> int:
    said = subprocess.run([server, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\) (\d+)", said)
    return int(found[1]) if found else 0
