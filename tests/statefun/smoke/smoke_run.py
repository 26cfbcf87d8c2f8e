"""A run of the smoke test: a job in a process of its own, fed with commands, and checked."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka_topics import Topics
from killed_job import KilledJob, kill_a_worker
from smoke_commands import Command, Commands

from millrace.cli.main import main
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader

HERE = Path(__file__).parent
PARTITIONS = 2
PYTHON = (sys.executable, str(HERE / "smoke_functions.py"))
"""Command of the server with Flink's Python SDK."""

ENDPOINT = """\
kind: io.statefun.endpoints.v2/http
spec:
  functions: smoke/*
  urlPathTemplate: {url}
"""


class FunctionServer:
    """A server of functions, as README.md describes it.

    Args:
        command: starts it.
    """

    def __init__(self, command: Sequence[str] = PYTHON) -> None:
        self._command = command
        self._process = self._started({})
        assert self._process.stdout is not None
        self._port = self._process.stdout.readline().decode().strip()

    def _started(self, more: dict[str, str]) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **more}
        return subprocess.Popen(self._command, stdout=subprocess.PIPE, env=environment)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def kill(self) -> None:
        """kill -9, and start it again at the same port."""
        self.close()
        self._process = self._started({"PORT": self._port})

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Texts:
    """What the job has written to its topic, as a consumer sees it that reads what is committed."""

    def __init__(self, servers: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": f"{topic}-reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
        self.told: Counter[str] = Counter()
        self.states: dict[str, tuple[int, int, int]] = {}
        """Last report of each function."""

    def look(self) -> None:
        """Take what has come, or wait a little for more."""
        for message in self._consumer.consume(1000, timeout=0.1):
            if message.error() is not None:
                continue  # a broker that restarts
            kind, _, text = message.value().decode().partition(" ")
            if kind == "told":
                self.told[text] += 1
            else:
                id, *values = text.split()
                count, seen, last = map(int, values)
                self.states[id] = count, seen, last

    def close(self) -> None:
        self._consumer.close()


class Smoke(KilledJob):
    """The job of the smoke test.

    Args:
        url: of the functions, or "embedded".
        where: "local" or "spark".
        sdk: directory of the SDK of embedded functions; None for that of the environment.
    """

    script = HERE / "smoke_job.py"

    def __init__(
        self,
        topics: Topics,
        directory: Path,
        commands: Commands,
        url: str,
        where: str = "local",
        sdk: Path | None = None,
    ) -> None:
        super().__init__(directory)
        self._sdk = sdk
        self._servers = topics.bootstrap_servers
        self._where, self._url = where, url
        self._source, self._sink = topics.create(PARTITIONS), topics.create(PARTITIONS)
        self.commands = commands
        self.texts = Texts(self._servers, self._sink)
        self._producer = Producer(
            {"bootstrap.servers": self._servers, "enable.idempotence": True, "log_level": 0}
        )
        self._driver = self.start()

    def arguments(self) -> list[str]:
        places = self._servers, self._source, self._sink, str(self.directory)
        return [*places, self._where, self._url]

    def packages(self) -> list[str]:
        return [] if self._sdk is None else [str(self._sdk)]

    def results(self) -> int:
        self.texts.look()
        return self.texts.told.total()

    # -- kills -----------------------------------------------------------------------------

    def kill_driver(self) -> None:
        """kill -9, and start it again."""
        self._driver.kill()
        self._driver.wait()
        self._driver = self.start()

    def kill_worker(self, rng: random.Random) -> None:
        """kill -9 of a process with subtasks, which is started again."""
        if self._where == "spark":
            kill_a_worker(self._driver, rng)
            return
        with suppress(psutil.Error):
            servers = psutil.Process(self._driver.pid).children()
            workers = [w for server in servers for w in server.children()]
            if workers:
                rng.choice(workers).kill()

    # -- endpoints -------------------------------------------------------------------------

    def move_functions(self, url: str) -> None:
        """Have the running job call its functions at another URL, by the command that people
        use."""
        module = self.directory / "module.yaml"
        module.write_text(ENDPOINT.format(url=url))
        checkpoints = str(self.directory / "checkpoints")
        command = ["statefun", "update", "smoke", str(module), "--functions", "smoke"]
        assert main([*command, "--checkpoint-dir", checkpoints]) == 0, self.log

    # -- commands --------------------------------------------------------------------------

    def feed(self, commands: Iterable[Command]) -> None:
        """Send commands. Those to one function stay in their order."""
        for id, content in commands:
            partition = int(id.rpartition("-")[2]) % PARTITIONS
            self._producer.produce(self._source, content, id.encode(), partition)
            self._producer.poll(0)
        assert self._producer.flush(60) == 0

    def wait_for_more(self, more: int) -> None:
        """Wait until so many more texts are there."""
        self.wait_for(self._driver, self.results() + more)
        assert self._driver.poll() is None, self.log

    # -- the end ---------------------------------------------------------------------------

    def check(self) -> None:
        """Wait until all has been handled, and compare everything."""
        self.feed(self.commands.last())
        until = time.monotonic() + self.patience_s
        while self._differences():
            assert time.monotonic() < until, (self._differences()[:20], self.log)
            self._report()
        self._report()  # nothing comes afterwards
        assert self._differences() == []
        (self.directory / "stop").touch()
        assert self._driver.wait(self.patience_s) == 0, self.log
        self._check_savepoint()

    def _report(self) -> None:
        """Have all functions report their states."""
        self.feed(self.commands.reports())
        last, ids = self.commands.model.last, self.commands.ids
        until = time.monotonic() + self.patience_s
        while any(id not in self.texts.states or self.texts.states[id][2] < last[id] for id in ids):
            assert time.monotonic() < until, self.log
            assert self._driver.poll() is None, self.log
            self.texts.look()

    def _differences(self) -> list[Any]:
        """States and texts that are not what they should be, with both."""
        model, texts = self.commands.model, self.texts
        states = [
            (id, texts.states.get(id), model.state(id))
            for id in self.commands.ids
            if texts.states.get(id) != model.state(id)
        ]
        told = [
            (text, texts.told[text], model.told[text])
            for text in texts.told.keys() | model.told.keys()
            if texts.told[text] != model.told[text]
        ]
        return [*states, *told]

    def _check_savepoint(self) -> None:
        """States in the savepoint are exact, and nothing waits in it."""
        path = (self.directory / "savepoint").read_text()
        reader = SnapshotReader(open_snapshot(path))
        for info in reader.states():
            if info.name in ("mailboxes", "delayed"):
                assert list(reader.entries(info)) == []

    def close(self) -> None:
        """End the driver and the clients."""
        self.texts.close()
        if self._driver.poll() is None:
            self._driver.kill()
            self._driver.wait()
