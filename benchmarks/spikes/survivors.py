"""Processes that survive the loss of one Python worker, and the time until all tasks run again.

A job of N tasks stays; each task holds a control connection to the driver. One Python worker is
killed with SIGKILL, again and again. Kinds of jobs:

    barrier  `RDD.barrier()`: Spark fails the job; the driver starts a new one
    plain    an ordinary job: Spark runs the lost task again, the others stay

What the other tasks do (`--others`): `return` as soon as the driver tells them to, or `nothing`
until Spark ends them. A process is known again by a global of Python.

What is lost (`--loss`): a `worker` is killed; its `executor` is killed (on a cluster); a worker is
`frozen` with SIGSTOP, and the driver asks Spark to end that task.

    python benchmarks/spikes/survivors.py --kind barrier --others return --kills 20
    python benchmarks/spikes/survivors.py --kind plain --master local-cluster[2,1,1024]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import BarrierTaskContext, SparkConf, SparkContext, TaskContext

PATIENCE = 120.0
LIVES = "_spike_lives"
"""Attribute of the module `sys`: how many tasks this process has run before."""


def stay(address: tuple[str, int], others: str, barrier: bool, gather: bool) -> Iterator[int]:
    """A task that stays until the driver tells it to return."""
    context = BarrierTaskContext.get() if barrier else TaskContext.get()
    assert context is not None
    if gather:
        assert isinstance(context, BarrierTaskContext)
        context.allGather(str(os.getpid()))
    lives = getattr(sys, LIVES, 0)
    setattr(sys, LIVES, lives + 1)
    hello = {
        "partition": context.partitionId(),
        "pid": os.getpid(),
        "daemon": os.getppid(),
        "lives": lives,
        "attempt": context.attemptNumber(),
        "stage": context.stageId(),
        "task attempt": context.taskAttemptId(),
    }
    with socket.create_connection(address) as control:
        control.sendall(json.dumps(hello).encode() + b"\n")
        while others == "nothing":
            time.sleep(0.05)
        control.recv(1)
    return iter(())


def parent_of(process: int) -> int:
    """The process that started a process."""
    with open(f"/proc/{process}/stat", encoding="ascii") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


@dataclass
class Member:
    """A task that is connected."""

    connection: socket.socket
    hello: dict[str, Any]


class Driver:
    """Starts jobs, kills workers, counts survivors."""

    def __init__(self, context: SparkContext, options: argparse.Namespace) -> None:
        self._context = context
        self._kind: str = options.kind
        self._others: str = options.others
        self._tasks: int = options.tasks
        self._gather: bool = options.gather
        self._loss: str = options.loss
        self._server = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._server.settimeout(PATIENCE)
        self._job: threading.Thread | None = None
        self.ends: list[str] = []

    def start(self) -> None:
        """Run a job in a thread."""
        self._job = threading.Thread(target=self._run, daemon=True)
        self._job.start()

    def _run(self) -> None:
        address, others, gather = self._server.getsockname(), self._others, self._gather
        barrier = self._kind != "plain"
        rows = self._context.parallelize(range(self._tasks), self._tasks)
        stages = rows.barrier() if barrier else rows
        try:
            stages.mapPartitions(lambda _: stay(address, others, barrier, gather)).collect()
            self.ends.append("success")
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines() if "Caused" not in line]
            self.ends.append(
                next((line for line in lines if "SparkException" in line), lines[0])[:230]
            )

    def wait_for_job(self) -> None:
        """Until the job has ended."""
        assert self._job is not None
        self._job.join(PATIENCE)

    def accept(self, count: int) -> list[Member]:
        """Tasks that report, in order of partitions."""
        members: list[Member] = []
        while len(members) < count:
            connection, _ = self._server.accept()
            line = connection.makefile("rb").readline()
            members.append(Member(connection, json.loads(line)))
        return sorted(members, key=lambda member: member.hello["partition"])

    def _lose(self, lost: Member) -> None:
        """Lose a task, and learn that it is lost."""
        if self._loss == "frozen":
            os.kill(lost.hello["pid"], signal.SIGSTOP)
            # public in Scala and Java, missing in Python
            self._context._jsc.sc().killTaskAttempt(lost.hello["task attempt"], False, "frozen")
            return
        executor = parent_of(lost.hello["daemon"])
        os.kill(executor if self._loss == "executor" else lost.hello["pid"], signal.SIGKILL)
        lost.connection.recv(1)  # EOF

    def kill(self, members: list[Member], draws: random.Random) -> tuple[list[Member], float]:
        """Kill one worker; the members of the next generation, and the seconds until they run."""
        lost = draws.choice(members)
        start = time.monotonic()
        self._lose(lost)
        if self._kind == "plain":
            [replacement] = self.accept(1)
            next_members = [replacement if m is lost else m for m in members]
            return next_members, time.monotonic() - start
        if self._others == "return":
            for member in members:
                if member is not lost:
                    member.connection.sendall(b"r")
        self.wait_for_job()
        self.start()
        next_members = self.accept(self._tasks)
        return next_members, time.monotonic() - start


def context_for(options: argparse.Namespace) -> SparkContext:
    """A Spark of its own."""
    conf = SparkConf().setMaster(options.master).setAppName("survivors")
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.task.maxFailures", "1000")
    for setting in options.conf:
        conf.set(*setting.split("=", 1))
    return SparkContext(conf=conf)


def main() -> None:
    """Print what was seen."""
    parser = argparse.ArgumentParser(description="Kill workers and count survivors.")
    parser.add_argument("--kind", choices=["barrier", "plain"], default="barrier")
    parser.add_argument("--others", choices=["return", "nothing"], default="return")
    parser.add_argument("--loss", choices=["worker", "executor", "frozen"], default="worker")
    parser.add_argument("--master", default="local[2,1000]")
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--gather", action="store_true", help="call allGather as tasks start")
    parser.add_argument("--conf", action="append", default=[], help="NAME=VALUE")
    options = parser.parse_args()
    context = context_for(options)
    driver = Driver(context, options)
    driver.start()
    members = driver.accept(options.tasks)
    draws = random.Random(1)
    survived, seconds = 0, []
    for _ in range(options.kills):
        before = {member.hello["pid"] for member in members}
        members, took = driver.kill(members, draws)
        survived += sum(member.hello["pid"] in before for member in members)
        assert all(
            m.hello["lives"] or m.hello["pid"] not in before or options.kind == "plain"
            for m in members
        )
        seconds.append(took)
    for member in members:
        member.connection.sendall(b"r")
    print(f"{options.loss} lost, {options.kind}, {options.master}, others {options.others},")
    print(f"  allGather {options.gather}:")
    print(f"  survivors {survived} of {options.kills * (options.tasks - 1)}")
    print(f"  seconds until all run: p50 {statistics.median(seconds):.2f}, max {max(seconds):.2f}")
    print(f"  last hello {members[-1].hello}, job ends {sorted(set(driver.ends))}", flush=True)
    if options.others == "return":
        driver.wait_for_job()
    context.stop()


if __name__ == "__main__":
    main()
