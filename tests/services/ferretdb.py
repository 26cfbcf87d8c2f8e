"""FerretDB 1: a server of MongoDB's protocol over SQLite, built from its Go module.

MongoDB's own server is in no package registry. FerretDB has no sessions that outlive a connection,
no ``$sample`` and no ``splitVector``.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from service import Service, cache_directory, free_ports, install_lock, run_installer

VERSION = "1.24.2"
"""The last with a database of its own: FerretDB 2 needs an extension of PostgreSQL."""
_MODULE = "github.com/FerretDB/FerretDB"
_PROJECT = f"""module tests/ferretdb

go 1.22

require {_MODULE} v{VERSION}
"""


class FerretDB(Service):
    """One server with a user; its files outlive it."""

    name: ClassVar[str] = "MongoDB (FerretDB)"
    command: ClassVar[str] = "mongodb"
    fixture: ClassVar[str] = "ferretdb"
    stop_seconds: ClassVar[float] = 0
    user: ClassVar[str] = "tests"
    password: ClassVar[str] = "only-for-tests"

    @classmethod
    def install(cls) -> None:
        home = _home()
        with install_lock(home.name):
            if not (home / "ferretdb").exists():
                _build(home)

    @property
    def uri(self) -> str:
        return f"mongodb://{self.user}:{self.password}@127.0.0.1:{self.port}/"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"MONGODB_URI": self.uri}

    def start(self) -> None:
        [self.port] = free_ports(1)
        self.resume()

    def resume(self) -> None:
        """Start it again after `kill`, on the same port, with its data."""
        data = self.directory / "data"
        data.mkdir(exist_ok=True)
        options = {
            "handler": "sqlite",
            "sqlite-url": f"file:{data}/",
            "state-dir": self.directory,
            "listen-addr": f"127.0.0.1:{self.port}",
            "debug-addr": "-",
            "telemetry": "disable",
            "log-level": "warn",
            "setup-database": "admin",
            "setup-username": self.user,
            "setup-password": self.password,
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        self.spawn([_home() / "ferretdb", *words, "--test-enable-new-auth"])
        self.wait_until(self._accepts)

    def _accepts(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), 5):
            return True


def _home() -> Path:
    return cache_directory() / f"ferretdb-{VERSION}"


def _build(home: Path) -> None:
    """Compile it, from a copy of the module: it wants a file there that says its version."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "go.mod").write_text(_PROJECT)
    go = shutil.which("go") or "go"
    build = {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}  # no other toolchain from the network
    run_installer([go, "-C", home, "mod", "download", _MODULE], build)
    [module] = run_installer(
        [go, "-C", home, "list", "-m", "-f", "{{.Dir}}", _MODULE], build
    ).split()
    source = home / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(module, source, copy_function=shutil.copyfile)
    for directory in (source, *(path for path in source.rglob("*") if path.is_dir())):
        directory.chmod(0o755)  # modules are kept read-only
    (source / "build" / "version" / "version.txt").write_text(f"v{VERSION}\n")
    command = [go, "-C", source, "build", "-tags", "ferretdb_sqlite", "-o", home / "ferretdb"]
    run_installer([*command, "./cmd/ferretdb"], build)
    shutil.rmtree(source)
