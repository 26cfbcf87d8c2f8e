"""Real job servers of one registry, in processes of their own, for tests of high availability."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from millrace.common.errors import StateError
from millrace.server.server_address import ServerAddress

JOBS = Path(__file__).parent / "jobs"
DEADLINE = 120.0
LEASE = "high-availability.postgresql.leader-election"
OTHER_MACHINE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""Process ids of its own: its processes are neither seen nor adopted."""
QUICK = (f"{LEASE}.lease-duration=4 s", f"{LEASE}.retry-period=300 ms")


def await_that(condition: Callable[[], object], what: str) -> float:
    """Wait until something is so, and return after how many seconds; the deadline only ends tests
    that have failed."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < DEADLINE, f"{what} did not happen"
        time.sleep(0.05)
    return time.monotonic() - begun


class ServerProcess:
    """One server."""

    def __init__(self, directory: Path, arguments: Sequence[str], before: Sequence[str]) -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        command = [sys.executable, str(JOBS / "server_process.py"), "--port", "0", "--no-auth"]
        command += ["--allow-uploads", "--directory", str(directory), *arguments]
        with (directory / "out").open("wb") as out:
            self.process = subprocess.Popen(
                [*before, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "XDG_STATE_HOME": str(directory / "state")},
            )
        self._wrapped = bool(before)
        await_that(self._has_begun, "a server's start")

    def _has_begun(self) -> bool:
        assert self.process.poll() is None, (self.directory / "out").read_text()
        with suppress(StateError):
            self.url = ServerAddress.read(self.directory).url
            return True
        return False

    @property
    def pid(self) -> int:
        """Of the server itself, not of what it is wrapped in."""
        pid = self.process.pid
        if self._wrapped:
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        return pid

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, FileNotFoundError, IndexError):
            os.kill(self.pid, number)
        if number is signal.SIGKILL:
            self.process.kill()
            self.process.wait()

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=60)

    def leads(self) -> bool:
        with suppress(httpx.HTTPError):
            return bool(self.get("/health").json()["leader"])
        return False

    def log(self) -> str:
        return (self.directory / "server.log").read_text()


@dataclass(frozen=True)
class CountingJob:
    """A job that writes 1, 2, 3 and so on into files of a directory."""

    id: str
    output: Path

    def written(self) -> list[int]:
        """What it has made visible, in order of size."""
        parts = [path for path in self.output.rglob("part-*") if "inprogress" not in path.name]
        return sorted(int(line) for path in parts for line in path.read_text().split())

    def await_progress(self, records: int = 20) -> None:
        """Wait until it has written more."""
        before = len(self.written())
        await_that(lambda: len(self.written()) >= before + records, "progress of the job")

    def stop(self, leader: ServerProcess) -> None:
        """Let it end with a savepoint: all that it has counted is visible then."""
        asked = {"targetDirectory": str(self.output.parent / "savepoints"), "drain": False}
        sent = httpx.post(f"{leader.url}/jobs/{self.id}/stop", json=asked, timeout=60)
        sent.raise_for_status()
        last = lambda: leader.get(f"/jobs/{self.id}/attempts").json()["attempts"][-1]  # noqa: E731
        await_that(lambda: last()["outcome"], "the end of the job's process")
        assert last()["outcome"] == "finished"

    def require_exactly_once(self) -> None:
        """Each number that was written stands there once, and none is missing."""
        times = Counter(self.written())
        assert times, "nothing was written"
        doubled = sorted(number for number, count in times.items() if count > 1)
        missing = sorted(set(range(1, max(times) + 1)) - set(times))
        assert not doubled, f"{len(doubled)} were written twice: {doubled[:20]}"
        assert not missing, f"{len(missing)} below {max(times)} are missing: {missing[:20]}"


def count(
    leader: ServerProcess, output: Path, configuration: Mapping[str, str] | None = None
) -> CountingJob:
    """Let a server run a job that counts into a directory."""
    with (JOBS / "counting.py").open("rb") as program:
        sent = httpx.post(
            f"{leader.url}/jars/upload", files={"jarfile": ("counting.py", program)}, timeout=60
        )
    jar = sent.json()["filename"].rpartition("/")[2]
    asked = {"programArgsList": [str(output)], "flinkConfiguration": dict(configuration or {})}
    ran = httpx.post(f"{leader.url}/jars/{jar}/run", json=asked, timeout=60)
    return CountingJob(str(ran.json()["jobid"]), output)


def kill_processes_of_jobs(storage: Path, named: Path) -> None:
    """kill -9 of the jobs that are kept in a directory, if their command lines name another one:
    their process ids may be others' by now."""
    for path in storage.glob("jobs/*/process-*.pid"):
        with suppress(ValueError, OSError):
            pid = int(path.read_text())
            if str(named).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.killpg(pid, signal.SIGKILL)


class ServerGroup:
    """Servers of one registry, which share a directory."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.options = options
        self.servers: list[ServerProcess] = []

    def start(self, registry: str, kind: str, before: Sequence[str] = ()) -> ServerProcess:
        """Start one more."""
        options = [f"high-availability.storage-dir={self.directory / 'shared'}", *self.options]
        arguments = ["--registry", registry, "--high-availability", kind]
        arguments += [word for option in options for word in ("--conf", option)]
        place = self.directory / f"server-{len(self.servers)}"
        server = ServerProcess(place, arguments, before)
        self.servers.append(server)
        return server

    def count(self, leader: ServerProcess, output: str = "out") -> CountingJob:
        """Let a leader run a job that counts into a directory."""
        return count(leader, self.directory / output)

    def count_within(self, namespace: str, leader: ServerProcess) -> CountingJob:
        """`count`, of a leader in another network."""
        script = (
            "import sys; from pathlib import Path; from types import SimpleNamespace\n"
            "sys.path.insert(0, sys.argv[1]); from server_group import ServerGroup\n"
            "group = ServerGroup(Path(sys.argv[2]))\n"
            "print(group.count(SimpleNamespace(url=sys.argv[3])).id)\n"
        )
        command = ["ip", "netns", "exec", namespace, sys.executable, "-c", script]
        command += [str(Path(__file__).parent), str(self.directory), leader.url]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        return CountingJob(ran.stdout.strip(), self.directory / "out")

    def close(self) -> None:
        for server in self.servers:
            server.signal(signal.SIGCONT)
            server.signal(signal.SIGKILL)
        kill_processes_of_jobs(self.directory / "shared", self.directory)
