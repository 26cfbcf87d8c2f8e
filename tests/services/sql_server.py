"""What tests need of a database server, whichever it is."""

from __future__ import annotations

import subprocess
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from service import Service, ServiceUnavailableError, free_ports
from unprivileged import unprivileged


class SqlServer(Service):
    """One server, with a database of its own per test: `create_database`."""

    user: ClassVar[str] = "millrace"
    """May do all, replication too."""
    password: ClassVar[str] = "only-for-the-tests-of-millrace"
    main_database: ClassVar[str]
    """That is always there."""
    create_options: ClassVar[str] = ""
    """Options of CREATE DATABASE for a test's database."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._data = directory / "data"

    @abstractmethod
    def resume(self) -> None:
        """Start it again after `kill`, on the same port, with its data."""

    @abstractmethod
    def client(self, statement: str, database: str) -> tuple[Sequence[str | Path], dict[str, str]]:
        """The command that sends a statement, and its environment."""

    def create_database(self) -> str:
        """A new empty database; its name."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self.run_sql(f"CREATE DATABASE {name} {self.create_options}")
        return name

    def run_sql(self, statement: str, database: str = "") -> str:
        """What the server's own client answers: a line per row."""
        command, environment = self.client(statement, database or self.main_database)
        answer = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if answer.returncode:
            raise RuntimeError(answer.stderr.strip())
        return answer.stdout.strip()

    def initialise(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        """Choose the port, and have the server's own program make the directory of its data."""
        [self.port] = free_ports(1)
        self._data.mkdir(mode=0o700)
        process = self.spawn(unprivileged(command, self._data), environment)
        if process.wait():
            raise ServiceUnavailableError(f"{command[0]} failed: {self._last_words()}")
        self._processes.remove(process)

    def restart(self) -> None:
        """`kill` and `resume`: what was committed is recovered."""
        self.kill()
        self.resume()

    def answers(self) -> bool:
        """Whether it executes a statement."""
        try:
            return self.run_sql("SELECT 1") == "1"
        except RuntimeError:
            return False
