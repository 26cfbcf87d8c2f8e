"""Two hosts on one machine: network namespaces with an address each, joined by a cable."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pyspark

PATIENCE = 900.0
"""Seconds that anything may take on a busy machine."""
ADDRESSES = ("192.0.2.1", "192.0.2.2")
"""Addresses of the block that is reserved for documentation and tests."""
SPARK_HOME = Path(pyspark.__file__).parent


class HostsUnavailableError(Exception):
    """This machine lets nobody make namespaces; the message says why."""


class TwoHosts:
    """Processes on one of them see only its network. A context manager; ends what it started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        mark = uuid.uuid4().hex[:6]
        self._names = (f"mill-{mark}-a", f"mill-{mark}-b")
        self._cables = (f"mill{mark}a", f"mill{mark}b")
        self._processes: list[psutil.Popen] = []

    def __enter__(self) -> TwoHosts:
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise HostsUnavailableError("network namespaces take root and the package iproute2")
        try:
            for name in self._names:
                _ip("netns", "add", name)
            _ip("link", "add", self._cables[0], "type", "veth", "peer", "name", self._cables[1])
            for name, cable, address in zip(self._names, self._cables, ADDRESSES, strict=True):
                _ip("link", "set", cable, "netns", name)
                _ip("-n", name, "address", "add", f"{address}/24", "dev", cable)
                _ip("-n", name, "link", "set", cable, "up")
                _ip("-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        ended: list[psutil.Process] = []
        for process in self._processes:
            with suppress(psutil.NoSuchProcess):
                ended += [process, *process.children(recursive=True)]
        for process in ended:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(ended, timeout=30)
        for name in self._names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def command(
        self, host: int, words: Sequence[str | Path], hidden: Path | None = None
    ) -> list[str]:
        """The command line that runs ``words`` on a host.

        Args:
            hidden: a directory in whose place this host has an empty one of its own.
        """
        command = ["ip", "netns", "exec", self._names[host]]
        if hidden is not None:
            script = 'mount -t tmpfs none "$0" && exec "$@"'
            command += ["unshare", "--mount", "sh", "-c", script, str(hidden)]
        return [*command, *map(str, words)]

    def run(
        self, host: int, words: Sequence[str | Path], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on a host to its end."""
        return subprocess.run(
            self.command(host, words),
            env=self._environment(host, environment),
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def start_cluster(self, environment: Mapping[str, str], hidden: Path | None = None) -> str:
        """A Spark master on the first host and a worker of one core on each; the master's URL.

        Args:
            hidden: what the second host does not share.
        """
        port = ["--port", "0", "--webui-port", "0"]
        master = ["org.apache.spark.deploy.master.Master", "--host", ADDRESSES[0], *port]
        url = self._wait(self._start(0, "master", master, environment), r"(spark://\S+:\d+)\n")
        for host, address in enumerate(ADDRESSES):
            worker = ["org.apache.spark.deploy.worker.Worker", "--host", address, *port]
            worker += ["--cores", "1", "--memory", "1g"]
            worker += ["--work-dir", str(self.directory / f"work-{host}"), url]
            log = self._start(host, f"worker-{host}", worker, environment, hidden if host else None)
            self._wait(log, "(Successfully registered with master)")
        return url

    def _start(
        self, host: int, name: str, words: list[str], environment: Mapping[str, str],
        hidden: Path | None = None,
    ) -> Path:  # fmt: skip
        log = self.directory / f"{name}.log"
        with log.open("wb") as output:
            command = self.command(host, [SPARK_HOME / "bin" / "spark-class", *words], hidden)
            own = self._environment(host, environment)
            self._processes.append(psutil.Popen(command, env=own, stdout=output, stderr=output))
        return log

    def _environment(self, host: int, environment: Mapping[str, str]) -> dict[str, str]:
        return {
            **environment,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": ADDRESSES[host],
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": environment.get("PYSPARK_PYTHON", sys.executable),
        }

    def _wait(self, log: Path, pattern: str) -> str:
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, log.read_text(errors="replace"))):
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.1)
        return found[1]


def _ip(*words: str) -> None:
    run = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if run.returncode:
        raise HostsUnavailableError(f"ip {' '.join(words)}: {run.stderr.strip()}")
