"""Executors and workers killed on a real standalone cluster, with a source that reads differently
when it is read again: nothing is lost, nothing doubled."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE

import fault_pipeline as pipeline
import psutil
import pytest
from cluster_driver import SPLITS
from fault_lives import environment
from standalone_cluster import (
    HOSTS,
    LOOPBACK,
    PATIENCE,
    ClusterDriver,
    StandaloneCluster,
    command_line,
)

pytestmark = [pytest.mark.fault, pytest.mark.spark]


@pytest.fixture
def master(tmp_path: Path) -> Iterator[StandaloneCluster]:
    """A cluster without workers."""
    cluster = StandaloneCluster(tmp_path)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def cluster(master: StandaloneCluster) -> StandaloneCluster:
    master.start_workers()
    return master


def share_current(driver: ClusterDriver) -> float:
    """The share of answers of subtasks that found their state as they had left it."""
    cached = driver.lines[-1]["cached"]
    known = {how: n for how, n in cached.items() if how != "new"}
    return float(known.get("current", 0) / sum(known.values()))


def survive(
    cluster: StandaloneCluster,
    directory: Path,
    count: int,
    seed: int,
    executor: str,
    at_first: int = 25,
) -> float:
    """Kill an executor after so many epochs, then a worker with all it has; the share of states
    found before that."""
    rng = random.Random(seed)
    driver = ClusterDriver(cluster, directory, count, executor)
    try:
        driver.wait_for_epochs(at_first)
        share = share_current(driver)
        first = rng.randrange(2)
        driver.wait_for(lambda: bool(cluster.executors(first)), "executor to kill")
        for process in cluster.executors(first):
            process.kill()
        driver.wait_for_epochs(rng.randint(3, 8))
        doomed = cluster.workers[1 - first]
        doomed.kill()
        assert driver.wait() == 0, driver.tail()
        assert driver.lines[-1]["finished"]
        wanted = "epochs" if executor == "epochs" else "resident"
        assert f"executor {wanted}: " in driver.err.read_text()
    finally:
        driver.close()
    pipeline.check_output(directory / "out", count, SPLITS)
    return share


@pytest.mark.turns(7)
@pytest.mark.parametrize("executor", ["epochs", "auto"])
def test_an_executor_and_a_worker_die(
    executor: str,
    cluster: StandaloneCluster,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """Before that, subtasks find their state where they left it, for they stay on their hosts. The
    job chooses resident tasks, one in this case, and leaves the other slot free."""
    share = survive(cluster, tmp_path, count=2500, seed=0, executor=executor, at_first=15)
    record_property("state found current before the first kill", f"{share:.1%}")
    # a machine so busy that a task waits too long for its host makes it move once
    assert share >= 0.95


@pytest.mark.torture
def test_an_executor_comes_late(master: StandaloneCluster, tmp_path: Path) -> None:
    """The subtasks spread over it, with their state, and then stay where they are."""
    master.start_workers(1)
    driver = ClusterDriver(master, tmp_path, count=6000)
    try:
        driver.wait_for_epochs(10)
        master.start_worker(HOSTS[1])

        def works() -> bool:
            children = [c for e in master.executors(1) for c in e.children(recursive=True)]
            return any("pyspark" in command_line(child) for child in children)

        driver.wait_for(works, "Python worker of the executor that came late")
        before = driver.lines[-1]["refused"]
        driver.wait_for_epochs(20)
        last = driver.lines[-1]
        assert last["refused"] - before <= 2  # once for those that moved
        assert driver.wait() == 0, driver.tail()
    finally:
        driver.close()
    pipeline.check_output(tmp_path / "out", 6000, SPLITS)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(1, 21))
def test_executors_and_workers_die_at_length(
    seed: int, executor: str, cluster: StandaloneCluster, tmp_path: Path
) -> None:
    """On resident tasks, both slots are taken: the task that is left takes over after a minute."""
    survive(cluster, tmp_path, count=9000, seed=seed, executor=executor)


@pytest.mark.torture
def test_resident_tasks_follow_a_cluster_that_grows_and_is_decommissioned(
    master: StandaloneCluster, tmp_path: Path
) -> None:
    """A second executor gets a task; the first one is told to leave, and ends by itself, when its
    subtasks have moved. Nothing fails."""
    master.start_workers(1)
    more = {"spark.decommission.enabled": "true"}
    driver = ClusterDriver(master, tmp_path, 9_000, "resident", more)

    def works(host: int) -> bool:
        children = [c for e in master.executors(host) for c in e.children(recursive=True)]
        return sum("pyspark.daemon" in command_line(child) for child in children) > 1

    try:
        driver.wait_for_epochs(10)
        master.start_worker(HOSTS[1])
        driver.wait_for(lambda: works(1), "task of the executor that came late")
        driver.wait_for_epochs(5)
        [leaving] = master.executors(0)
        leaving.send_signal(signal.SIGPWR)
        driver.wait_for(lambda: not leaving.is_running(), "end of the executor that leaves")
        driver.wait_for_epochs(5)
        assert driver.wait() == 0, driver.tail()
    finally:
        driver.close()
    pipeline.check_output(tmp_path / "out", 9_000, SPLITS)
    log = driver.err.read_text()
    assert "is about to be removed" in log
    assert " was lost" not in log


OPERATED = """
import os, sys, time
from millrace.common import Encoder, WatermarkStrategy
from millrace.connectors import FileSink
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

HERE = os.getcwd()  # executors have directories of their own

def look_up(number):
    if number == 30 and not os.path.exists(f"{HERE}/seen"):
        open(f"{HERE}/seen", "w").close()
        time.sleep(20)  # an executor is killed meanwhile: who does it again does not wait
    time.sleep(0 if os.path.exists(f"{HERE}/stopped") else 0.03)
    return number % 7, number

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
source = NumberSequenceSource(0, 5999)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
looked_up = numbers.map(look_up).name("Enrich").uid("enrich")
sums = looked_up.key_by(0).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums")
sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
sums.map(lambda pair: f"{pair[0]} {pair[1]}").uid("text").sink_to(sink).uid("sink")
env.execute("operated")
"""


@pytest.mark.torture
@pytest.mark.parametrize("executor", ["epochs", "auto"])
def test_a_job_on_a_cluster_is_operated(
    executor: str, cluster: StandaloneCluster, tmp_path: Path
) -> None:
    """Its stacks are shown, an executor is killed, it is stopped with a savepoint and goes on."""
    (tmp_path / "job.py").write_text(OPERATED)
    words = ["--master", cluster.url, "--checkpoint-dir", "checkpoints"]
    for key, value in {
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executorEnv.PYTHONPATH": environment()["PYTHONPATH"],
        "spark.driver.host": LOOPBACK,
        "millrace.executor": executor,
        "millrace.epoch.initial-records-per-split": "100",
        "millrace.epoch.max-records-per-split": "100",
    }.items():
        words += ["--conf", f"{key}={value}"]
    state = environment(XDG_STATE_HOME=str(tmp_path / "state"))

    def start(*command: str) -> psutil.Popen:
        line = [sys.executable, "-m", "millrace", *command]
        return psutil.Popen(line, cwd=tmp_path, env=state, stdout=PIPE, stderr=PIPE, text=True)

    def answer(*command: str) -> str:
        out, err = start(*command, "--checkpoint-dir", "checkpoints").communicate(timeout=PATIENCE)
        return str(out + err)

    job = start("run", *words, "job.py")
    try:
        deadline = time.monotonic() + PATIENCE
        while "in look_up" not in (said := answer("stacks", "operated")):
            assert time.monotonic() < deadline, said
            assert job.poll() is None, job.communicate()
        assert "'Enrich'" in said
        assert "running" in answer("list")
        for process in cluster.executors(0):
            process.kill()
        while "epoch 1" in (said := answer("status", "operated")) or "epoch 0" in said:
            assert time.monotonic() < deadline, said
        stopped = answer("stop", "operated")
        assert "has ended with the savepoint" in stopped, stopped
        _, err = job.communicate(timeout=PATIENCE)
        assert job.returncode == 0, err
        assert "Traceback" not in err
        savepoint = stopped.split("with the savepoint ")[1].split()[0]
        assert f"the job has ended with the savepoint {savepoint}" in err
        (tmp_path / "stopped").touch()
    finally:
        with suppress(psutil.NoSuchProcess):
            job.kill()
    job = start("run", *words, "-s", savepoint, "job.py")
    _, err = job.communicate(timeout=PATIENCE)
    assert job.returncode == 0, err
    parts = [path for path in (tmp_path / "out").rglob("part-*") if not path.name.startswith(".")]
    sums: dict[int, list[int]] = {key: [] for key in range(7)}
    for line in "".join(path.read_text() for path in parts).splitlines():
        key, total = map(int, line.split())
        sums[key].append(total)
    for key, totals in sums.items():  # each number was added once, in whatever order
        totals.sort()
        added = [after - before for before, after in pairwise([0, *totals])]
        assert sorted(added) == list(range(key, 6000, 7))
