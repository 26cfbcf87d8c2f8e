"""A Spark standalone cluster on the loopback addresses of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from job_process import LOGS, MeasurementError, end_group, our_environment

PATIENCE = 60.0


class StandaloneCluster:
    """One master, and one worker on each of 127.0.0.1, 127.0.0.2 and so on: to Spark's scheduler
    those are different hosts. A context manager; ends only processes it has started."""

    def __init__(self, hosts: int, cores: int) -> None:
        self._hosts = hosts
        self._cores = cores
        self._processes: list[subprocess.Popen[bytes]] = []
        self._scratch = tempfile.TemporaryDirectory(prefix="millrace-bench-cluster-")
        self.master = ""

    def __enter__(self) -> StandaloneCluster:
        try:
            options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
            log = self._start("master", "127.0.0.1", ["master.Master", *options])
            self.master = _wait_for(log, r"(spark://127\.0\.0\.1:\d+)")
            for number in range(self._hosts):
                self._start_worker(f"127.0.0.{number + 1}")
            return self
        except BaseException:
            self.stop()
            raise

    def _start_worker(self, host: str) -> None:
        options = [
            "--host", host, "--webui-port", "0", "--cores", str(self._cores), "--memory", "2g",
            "--work-dir", os.path.join(self._scratch.name, host), self.master,
        ]  # fmt: skip
        log = self._start(f"worker-{host}", host, ["worker.Worker", *options])
        _wait_for(log, r"(Successfully registered with master)")

    def _start(self, name: str, host: str, words: list[str]) -> Path:
        kind, *options = words
        program = os.path.join(_spark_home(), "bin", "spark-class")
        command = [program, f"org.apache.spark.deploy.{kind}", *options]
        environment = our_environment() | {
            "SPARK_LOCAL_IP": host,
            "SPARK_HOME": _spark_home(),
            "SPARK_DAEMON_MEMORY": "512m",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_DIRS": self._scratch.name,
        }
        LOGS.mkdir(parents=True, exist_ok=True)
        log = LOGS / f"cluster-{name}.log"
        with log.open("wb") as output:
            self._processes.append(
                subprocess.Popen(
                    command, stdout=output, stderr=output, env=environment, start_new_session=True
                )
            )
        return log

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.stop()

    def stop(self) -> None:
        """End master and workers, and remove their files."""
        for process in reversed(self._processes):
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            end_group(process)
        self._processes.clear()
        self._scratch.cleanup()


def _spark_home() -> str:
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return os.path.dirname(found.origin)


def _wait_for(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise MeasurementError(f"the cluster did not start within {PATIENCE:.0f} s (see {log.name})")
