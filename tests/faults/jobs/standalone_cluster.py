"""A real Spark standalone cluster on loopback: a master and two workers of one core each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pyspark
from fault_lives import JOBS, environment
from told_driver import PATIENCE, ToldDriver

from millrace.spark.class_archive import archive_options

LOOPBACK = "127.0.0.1"
HOSTS = ("127.0.0.1", "127.0.0.2")
"""Two addresses are two hosts to Spark, which can tell a subtask's host but not its executor."""
PAUSE_MS = 50
"""Milliseconds between two reads on resident tasks, so that the job outlives an executor there."""


def quick_start() -> str:
    """Options of JVMs that live for seconds; nothing that this test is about depends on them."""
    options = archive_options()
    # several at once would write the archive that is missing
    mapped = options if "SharedArchiveFile" in options else ""
    return f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {mapped}".rstrip()


class StandaloneCluster:
    """Processes that are ended, each by its pid, when the cluster is closed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home = Path(pyspark.__file__).parent
        self.master = self._start("master", "org.apache.spark.deploy.master.Master")
        self.workers: list[psutil.Popen] = []

    def start_workers(self, count: int = len(HOSTS)) -> None:
        """Start some, and wait until the master knows them. Others may come later."""
        self.url = self._wait_for_url()
        for host in HOSTS[:count]:
            self.start_worker(host)
        self._wait_for_log(lambda log: log.count("Registering worker ") >= count)

    def start_worker(self, host: str) -> None:
        """Start one more."""
        self.workers.append(self._start_worker(host))

    def _wait_for_url(self) -> str:
        """The master takes a port that is free and tells it in its log."""
        url = re.compile(r"spark://\S+:\d+")
        log = self._wait_for_log(lambda log: url.search(log) and "New state: ALIVE" in log)
        found = url.search(log)
        assert found is not None
        return found[0]

    def _wait_for_log(self, is_told: Callable[[str], object]) -> str:
        """Wait until the master's log tells something. Returns the log."""
        deadline = time.monotonic() + PATIENCE
        while not is_told(log := (self.directory / "master.log").read_text()):
            assert self.master.poll() is None, log
            assert time.monotonic() < deadline, log
            time.sleep(0.05)
        return log

    def _start_worker(self, host: str) -> psutil.Popen:
        name = f"worker-{host}"
        main = "org.apache.spark.deploy.worker.Worker"
        limits = ("--cores", "1", "--memory", "1g", "--work-dir", str(self.directory / name))
        return self._start(name, main, *limits, self.url, host=host)

    def _start(self, name: str, main: str, *arguments: str, host: str = LOOPBACK) -> psutil.Popen:
        listening = ["--host", host, "--port", "0", "--webui-port", "0"]
        return psutil.Popen(
            [str(self.home / "bin" / "spark-class"), main, *listening, *arguments],
            env=environment(
                SPARK_HOME=str(self.home),
                SPARK_LOCAL_IP=host,
                SPARK_DAEMON_MEMORY="256m",
                SPARK_DAEMON_JAVA_OPTS=f"-Dspark.master.rest.enabled=false {quick_start()}",
                PYSPARK_PYTHON=sys.executable,
            ),
            stdout=subprocess.DEVNULL,
            stderr=(self.directory / f"{name}.log").open("wb"),
        )

    def executors(self, worker: int) -> list[psutil.Process]:
        """The executors that a worker runs now."""
        with suppress(psutil.NoSuchProcess):
            found = self.workers[worker].children(recursive=True)
            return [p for p in found if "CoarseGrainedExecutorBackend" in command_line(p)]
        return []

    def close(self) -> None:
        ended: list[psutil.Process] = []
        for process in [*self.workers, self.master]:
            with suppress(psutil.NoSuchProcess):
                ended += [process, *process.children(recursive=True)]
        for process in ended:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(ended, timeout=30)


class ClusterDriver(ToldDriver):
    """A driver of the fault pipeline on a cluster.

    Args:
        executor: value of ``millrace.executor``.
        more: further settings.
    """

    def __init__(
        self,
        cluster: StandaloneCluster,
        directory: Path,
        count: int,
        executor: str = "epochs",
        more: Mapping[str, str] | None = None,
    ) -> None:
        program = [sys.executable, str(JOBS / "cluster_driver.py"), str(directory), str(count)]
        env = environment()
        pairs = {**executor_settings(env), "millrace.executor": executor, **(more or {})}
        settings = [f"{key}={value}" for key, value in pairs.items()]
        pause_ms = "0" if executor == "epochs" else str(PAUSE_MS)
        super().__init__([*program, cluster.url, pause_ms, *settings], directory, env)


def executor_settings(env: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings for small executors that find what a driver with such variables finds."""
    return {
        "spark.executorEnv.PYTHONPATH": env["PYTHONPATH"],
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executor.extraJavaOptions": quick_start(),
        "spark.driver.host": LOOPBACK,
    }


def command_line(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return os.fspath(" ".join(process.cmdline()))
    return ""
