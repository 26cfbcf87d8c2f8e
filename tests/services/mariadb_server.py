"""MariaDB from Debian's packages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from debian import DebianPackages, debian_packages
from sql_server import SqlServer
from unprivileged import unprivileged


class MariaDB(SqlServer):
    """One server; rows are lines with tabs between columns."""

    name: ClassVar[str] = "MariaDB"
    command: ClassVar[str] = "mariadb"
    fixture: ClassVar[str] = "mariadb"
    stop_seconds: ClassVar[float] = 0
    main_database: ClassVar[str] = "mysql"
    create_options: ClassVar[str] = "CHARACTER SET utf8mb4"

    @classmethod
    def install(cls) -> None:
        _packages()

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "MARIADB_HOST": "127.0.0.1",
            "MARIADB_PORT": str(self.port),
            "MARIADB_USER": self.user,
            "MARIADB_PASSWORD": self.password,
        }

    def url(self, database: str = "") -> str:
        """Address of a database, with user and password."""
        return f"mariadb://{self.user}:{self.password}@127.0.0.1:{self.port}/{database}"

    def client(self, statement: str, database: str) -> tuple[list[str | Path], dict[str, str]]:
        address = ["--host=127.0.0.1", f"--port={self.port}", f"--user={self.user}"]
        program = _packages().path("usr/bin/mariadb")
        command = [program, "--no-defaults", "-N", "-B", *address, f"--password={self.password}"]
        return [*command, "-e", statement, database], {**os.environ, **_packages().environment}

    def start(self) -> None:
        packages = _packages()
        where = [f"--basedir={packages.root / 'usr'}", f"--datadir={self._data}"]
        install = packages.path("usr/bin/mariadb-install-db")
        command = [install, "--no-defaults", *where, "--skip-test-db"]
        self.initialise(command, packages.environment)
        users = self._data / "users.sql"
        users.write_text(
            f"CREATE USER IF NOT EXISTS {self.user}@127.0.0.1 IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON *.* TO {self.user}@127.0.0.1;\n"
        )
        self.resume()

    def resume(self) -> None:
        packages = _packages()
        options = {
            "basedir": packages.root / "usr",
            "datadir": self._data,
            "bind-address": "127.0.0.1",
            "port": self.port,
            "socket": self._data / "s",
            "pid-file": self._data / "pid",
            "init-file": self._data / "users.sql",
            "innodb-flush-log-at-trx-commit": 2,  # processes are killed, the machine is not
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        command = [packages.path("usr/sbin/mariadbd"), "--no-defaults", "--skip-name-resolve"]
        self.spawn(unprivileged([*command, *words], self._data), packages.environment)
        self.wait_until(self.answers)


def _packages() -> DebianPackages:
    return debian_packages("mariadb", "mariadb-server-core", "mariadb-client-core")
