"""Executors and workers killed on a real standalone cluster, with a source that reads differently
when it is read again: nothing is lost, nothing doubled."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import fault_pipeline as pipeline
import pytest
from cluster_driver import SPLITS
from standalone_cluster import ClusterDriver, StandaloneCluster

pytestmark = [pytest.mark.fault, pytest.mark.spark]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path)
    try:
        cluster.start_workers()
        yield cluster
    finally:
        cluster.close()


def share_current(driver: ClusterDriver) -> float:
    """The share of answers of subtasks that found their state as they had left it."""
    cached = driver.lines[-1]["cached"]
    known = {how: n for how, n in cached.items() if how != "new"}
    return float(known.get("current", 0) / sum(known.values()))


def survive(cluster: StandaloneCluster, directory: Path, count: int, seed: int) -> float:
    """Kill an executor, then a worker with all it has; the share of states found before that."""
    rng = random.Random(seed)
    driver = ClusterDriver(cluster, directory, count)
    try:
        driver.wait_for_epochs(25)
        share = share_current(driver)
        first = rng.randrange(2)
        driver.wait_for(lambda: bool(cluster.executors(first)), "executor to kill")
        for executor in cluster.executors(first):
            executor.kill()
        driver.wait_for_epochs(rng.randint(3, 8))
        doomed = cluster.workers[1 - first]
        doomed.kill()
        assert driver.wait() == 0, driver.tail()
        assert driver.lines[-1]["finished"]
    finally:
        driver.close()
    pipeline.check_output(directory / "out", count, SPLITS)
    return share


def test_an_executor_and_a_worker_die(
    cluster: StandaloneCluster, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Before that, subtasks find their state where they left it, for they stay on their hosts."""
    share = survive(cluster, tmp_path, count=5000, seed=0)
    record_property("state found current before the first kill", f"{share:.1%}")
    # a machine so busy that a task waits too long for its host makes it move once
    assert share >= 0.95


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(1, 21))
def test_executors_and_workers_die_at_length(
    seed: int, cluster: StandaloneCluster, tmp_path: Path
) -> None:
    survive(cluster, tmp_path, count=9000, seed=seed)
