"""One driver after the other on one job directory, each killed at its crash point, without Spark.

Reads a request as JSON, forks a driver per item of its ``traps`` (as in MILLRACE_CRASH; "" lets it
live) and prints what each came to: its exit status, and what readers saw afterwards.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fault_pipeline as pipeline
from fault_cluster import FaultyCluster

from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.executor import Executor
from millrace.engine.job_details import JobDetails
from millrace.engine.resident.tasks import ResidentSettings
from millrace.filesystem import crash_points as crash
from millrace.state.canonical import savepoint_files
from millrace.testing.resident_tasks import local_resident_executor

# Arrow is imported once, before drivers are forked: the jobs end before one of them has done it.
assert savepoint_files


@dataclass
class Request:
    directory: str
    traps: list[str]
    count: int = 400
    splits: int = 3
    parallelism: int = 2
    interval: int = 0
    """Milliseconds between checkpoints."""
    inline_limit: int = 400
    seed: int = 0
    rate: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    rescale: dict[str, int] = field(default_factory=dict)
    """After so many epochs of each driver, the parallelism to go on with."""
    savepoint: int = 0
    """After so many epochs of each driver, make a savepoint."""
    kill_after: list[float] = field(default_factory=list)
    """Seconds after which each driver is killed, wherever it is then; 0: not."""
    executor: str = "epochs"
    """The executor of the drivers: epochs, or resident tasks in their threads."""
    look: bool = True
    """Whether to tell what readers saw; only on a disk."""


def live(request: Request, number: int) -> int:
    """Fork a driver; its exit status, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            # the kernel outlives a killed process: flushing would only slow the test down
            os.fsync = lambda descriptor: None
            crash._TRAPS = crash._parse(request.traps[number])
            run(request, number)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    if request.kill_after and request.kill_after[number]:
        return killed_after(pid, request.kill_after[number])
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_after(pid: int, seconds: float) -> int:
    """Kill a driver that has not ended by then; its exit status."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(request: Request, number: int) -> None:
    cluster: Executor
    if request.executor == "resident":
        cluster = local_resident_executor(2, ResidentSettings(barrier_interval=2))
    else:
        cluster = FaultyCluster(request.seed * 1000 + number, request.rate)
    JobLauncher.install(JobLauncher(resume=True, executor=lambda *_: cluster))
    configuration = pipeline.small_epochs(
        f"{request.directory}/checkpoints", request.interval, inline_limit=request.inline_limit
    )
    for key, value in request.settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(request.parallelism)
    pipeline.build(env, f"{request.directory}/out", request.count, request.splits)
    client = env.build_client(pipeline.JOB_NAME)

    def operate(progress: JobDetails) -> None:
        wanted = request.rescale.get(str(progress.epochs))
        if wanted is not None:
            client.rescale(wanted)
        if progress.epochs == request.savepoint:
            client.trigger_savepoint(f"{request.directory}/savepoints")

    env.launcher.listeners.append(operate)
    client.run()
    client.result()


def main() -> None:
    request = Request(**json.load(sys.stdin))
    lives = []
    for number in range(len(request.traps)):
        status = live(request, number)
        names = pipeline.SINKS if request.look else ()
        seen = {name: pipeline.visible(Path(request.directory) / "out", name) for name in names}
        lives.append({"status": status, "seen": seen})
    json.dump(lives, sys.stdout)


if __name__ == "__main__":
    main()
