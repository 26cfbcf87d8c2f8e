"""A Spark Connect server on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyspark

START_PATIENCE = 120.0
_HOME = Path(pyspark.__file__).parent
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServerProcess:
    """A server with the slots of a local master.

    Args:
        directory: where it writes its log and its files.
        paths: directories from which its workers import.
    """

    def __init__(self, directory: Path, paths: list[str], slots: int = 3) -> None:
        self.port = free_port()
        self.url = f"sc://127.0.0.1:{self.port}"
        self._log = directory / "connect.log"
        environment = {key: value for key, value in os.environ.items() if key != "SPARK_REMOTE"}
        environment["PYTHONPATH"] = os.pathsep.join([*paths, environment.get("PYTHONPATH", "")])
        environment["PYSPARK_PYTHON"] = sys.executable
        settings = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": self.port,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
            "spark.sql.warehouse.dir": directory / "warehouse",
        }
        pairs = [word for pair in settings.items() for word in ("--conf", "=".join(map(str, pair)))]
        submit = [str(_HOME / "bin" / "spark-submit"), "--class", _CLASS]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*submit, "--master", f"local[{slots}]", *pairs],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=directory,
                env=environment,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait until the server answers."""
        until = time.monotonic() + START_PATIENCE
        while True:
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(f"the server does not start:\n{self._log.read_text()[-3000:]}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port() -> int:
    """A port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
