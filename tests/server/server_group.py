"""Real job servers of one registry, in processes of their own, for tests of high availability."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from running_server import JOBS, AnsweringServer, RunningServer, await_that

LEASE = "high-availability.postgresql.leader-election"
OTHER_MACHINE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""Process ids of its own: its processes are neither seen nor adopted."""
QUICK = (f"{LEASE}.lease-duration=4 s", f"{LEASE}.retry-period=300 ms")


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

    def stop(self, leader: AnsweringServer) -> None:
        """Let it end with a savepoint: all that it has counted is visible then."""
        asked = {"targetDirectory": str(self.output.parent / "savepoints"), "drain": False}
        leader.post(f"/jobs/{self.id}/stop", json=asked)
        outcome = lambda: leader.attempts(self.id)[-1]["outcome"]  # noqa: E731
        await_that(outcome, "the end of the job's process")
        assert outcome() == "finished"

    def require_exactly_once(self) -> None:
        """Each number that was written stands there once, and none is missing."""
        times = Counter(self.written())
        assert times, "nothing was written"
        doubled = sorted(number for number, count in times.items() if count > 1)
        missing = sorted(set(range(1, max(times) + 1)) - set(times))
        assert not doubled, f"{len(doubled)} were written twice: {doubled[:20]}"
        assert not missing, f"{len(missing)} below {max(times)} are missing: {missing[:20]}"


def count(
    leader: AnsweringServer, output: Path, configuration: Mapping[str, str] | None = None
) -> CountingJob:
    """Let a server run a job that counts into a directory."""
    job = leader.submit(JOBS / "counting.py", output, configuration=configuration)
    return CountingJob(job, output)


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
        self.servers: list[RunningServer] = []

    def start(self, registry: str, kind: str, before: Sequence[str] = ()) -> RunningServer:
        """Start one more."""
        options = [f"high-availability.storage-dir={self.directory / 'shared'}", *self.options]
        arguments = ["--registry", registry, "--high-availability", kind]
        arguments += [word for option in options for word in ("--conf", option)]
        place = self.directory / f"server-{len(self.servers)}"
        server = RunningServer(place, arguments, before)
        self.servers.append(server)
        return server

    def count(self, leader: AnsweringServer, output: str = "out") -> CountingJob:
        """Let a leader run a job that counts into a directory."""
        return count(leader, self.directory / output)

    def count_within(self, namespace: str, leader: AnsweringServer) -> CountingJob:
        """`count`, of a leader in another network."""
        script = (
            "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
            "from server_group import ServerGroup; from running_server import AnsweringServer\n"
            "leader = AnsweringServer(sys.argv[3])\n"
            "print(ServerGroup(Path(sys.argv[2])).count(leader).id)\n"
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
