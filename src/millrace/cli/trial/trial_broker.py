"""A Kafka broker on loopback, whose data is removed when it ends."""

from __future__ import annotations

import ctypes
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from millrace.cli.trial.kafka_jars import KafkaJars, TrialError
from millrace.connectors.kafka.client import import_confluent_kafka

__all__ = ["HOST", "TrialBroker"]

HOST = "127.0.0.1"
_CLUSTER_ID = "bWlsbHJhY2UtdHJpYWwtMQ"
_READY_S = 60.0
_MOMENT_S = 0.2
_END_S = 10.0
_LAST_LINES = 8
_PARENT_DEATH_SIGNAL = 1
_MEMORY = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class TrialBroker:
    """One broker in KRaft mode, which is its own controller. It ends with this process.

    Args:
        java: the program ``java``.
        port: its port on loopback; 0: a free one.
    """

    def __init__(self, java: str, jars: KafkaJars, port: int) -> None:
        self._java = java
        self._jars = jars
        self.port = _free_port(port)
        self._directory = Path(tempfile.mkdtemp(prefix="millrace-kafka-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Address at which clients reach the broker."""
        return f"{HOST}:{self.port}"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the broker and remove its data; a second call has no effect."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def create_topics(self, *names: str) -> None:
        """Create topics with one partition each."""
        import confluent_kafka.admin

        administration: Any = confluent_kafka.admin
        wanted = [administration.NewTopic(name, num_partitions=1) for name in names]
        admin = self._admin()  # a client that nothing refers to ends, and its requests with it
        for created in admin.create_topics(wanted).values():
            created.result(_READY_S)

    @property
    def ended(self) -> bool:
        """Whether the broker has ended without a call of `stop`."""
        return self._process is not None and self._process.poll() is not None

    def last_words(self) -> str:
        """The last lines of the broker's log."""
        log = self._directory / "log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "\n".join(lines[-_LAST_LINES:])

    def _start(self) -> None:
        properties = self._directory / "server.properties"
        properties.write_text(self._properties(), encoding="utf-8")
        tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(properties)]
        formatted = self._spawn(tool)
        if formatted.wait() != 0:
            raise TrialError(f"Kafka cannot prepare its directory:\n{self.last_words()}")
        self._process = self._spawn(["kafka.Kafka", str(properties)])
        self._wait()

    def _wait(self) -> None:
        kafka, admin = import_confluent_kafka(), self._admin()
        until = time.monotonic() + _READY_S
        while True:
            if self.ended:
                raise TrialError(f"Kafka ended while it started:\n{self.last_words()}")
            try:
                admin.list_topics(timeout=_MOMENT_S)
            except kafka.KafkaException as error:
                if time.monotonic() > until:
                    raise TrialError(
                        f"Kafka does not answer at {self.address} after {_READY_S:.0f} s "
                        f"({error.args[0].str()}):\n{self.last_words()}"
                    ) from error
                time.sleep(_MOMENT_S)
            else:
                return

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        # its own log speaks of a broker that does not listen yet
        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def _spawn(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        command = [self._java, *_MEMORY, "-cp", self._jars.classpath, *arguments]
        with (self._directory / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C goes to this process, which ends the broker
                # what runs between fork and exec is one system call, which takes no lock
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )

    def _properties(self) -> str:
        controller = f"{HOST}:{_free_port(0)}"
        options = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": self._directory / "data",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
        }
        return "".join(f"{name}={value}\n" for name, value in options.items())


def _free_port(port: int) -> int:
    """The port itself if nothing listens on it, or a free one if it is 0.

    Raises:
        TrialError: the port is in use.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise TrialError(
                f"port {port} of {HOST} is in use ({error.strerror}), perhaps by another Kafka: "
                "choose one with --port N, or a free one with --port 0"
            ) from error
        return int(probe.getsockname()[1])


def _end_with_parent() -> None:
    """Have the kernel end this child with the process that started it."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
