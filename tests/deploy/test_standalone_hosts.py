"""A Spark standalone cluster on two hosts, as docs/operations/deployment/standalone.md makes it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_lives import environment
from running import unavailable
from two_hosts import ADDRESSES, HostsUnavailableError, TwoHosts

pytestmark = [pytest.mark.connectors, pytest.mark.spark]

JOB = """
import os
from millrace.common import Encoder, WatermarkStrategy
from millrace.connectors import FileSink
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(
    NumberSequenceSource(1, 2000), WatermarkStrategy.no_watermarks(), "numbers"
)
where = numbers.map(lambda n: (n % 50, os.environ["SPARK_LOCAL_IP"], 1)).key_by(lambda r: r[0])
sums = where.reduce(lambda a, b: (a[0], b[1], a[2] + b[2]))
sink = FileSink.for_row_format("{shared}/out", Encoder.simple_string_encoder()).build()
sums.map(lambda r: f"{{r[0]}} {{r[1]}} {{r[2]}}").sink_to(sink)
env.execute("two hosts")
"""
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.driver.host": ADDRESSES[0],
    "spark.cores.max": "2",
    # the second executor may come late on a busy machine
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "250s",
    "millrace.spark.tasks": "4",
}


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[TwoHosts]:
    made = TwoHosts(tmp_path)
    try:
        made.__enter__()
    except HostsUnavailableError as error:
        unavailable["network namespaces"] = str(error)
        pytest.skip(str(error))
    try:
        yield made
    finally:
        made.__exit__()


def millrace(command: str, master: str, shared: Path, *more: str) -> list[str]:
    """A command line that runs on the cluster."""
    words = [sys.executable, "-m", "millrace", command, "--master", master]
    words += ["--checkpoint-dir", str(shared / "checkpoints")]
    words += ["--json", "--timeout", "250"] if command == "doctor" else []
    paths = {"spark.executorEnv.PYTHONPATH": environment()["PYTHONPATH"]}
    for key, value in (SETTINGS | paths).items():
        words += ["--conf", f"{key}={value}"]
    return [*words, *more]


def test_a_job_runs_on_both_hosts(hosts: TwoHosts, tmp_path: Path) -> None:
    """The doctor is content before, and sums are right after."""
    shared = tmp_path / "shared"
    shared.mkdir()
    variables = environment(XDG_STATE_HOME=str(tmp_path / "state"))
    master = hosts.start_cluster(variables)
    examined = hosts.run(0, millrace("doctor", master, shared), variables)
    results = {result["check"]: result for result in json.loads(examined.stdout)}
    failures = [result for result in results.values() if result["severity"] == "failure"]
    assert failures == []
    assert "2 workers on 2 hosts" in results["workers' Python"]["found"]
    assert "driver and 2 workers share it" in results["checkpoint directory"]["found"]

    (tmp_path / "job.py").write_text(JOB.format(shared=shared))
    run = millrace("run", master, shared, "--parallelism", "4", str(tmp_path / "job.py"))
    done = hosts.run(0, run, variables)
    assert done.returncode == 0, done.stderr
    parts = [path for path in (shared / "out").rglob("part-*") if path.is_file()]
    lines = [line.split() for path in parts for line in path.read_text().splitlines()]
    assert {address for _, address, _ in lines} == set(ADDRESSES)
    totals: dict[str, int] = {}
    for key, _, count in lines:
        totals[key] = max(totals.get(key, 0), int(count))
    assert totals == {str(key): 40 for key in range(50)}


def test_the_doctor_finds_a_directory_that_is_not_shared(hosts: TwoHosts, tmp_path: Path) -> None:
    """The second host has a directory of the same name, on a disk of its own."""
    apart = tmp_path / "apart"
    apart.mkdir()
    variables = environment(XDG_STATE_HOME=str(tmp_path / "state"))
    master = hosts.start_cluster(variables, hidden=apart)
    examined = hosts.run(0, millrace("doctor", master, apart), variables)
    assert examined.returncode == 1, examined.stdout + examined.stderr
    failures = [r for r in json.loads(examined.stdout) if r["severity"] == "failure"]
    assert [failure["check"] for failure in failures] == ["checkpoint directory"]
    assert (
        f"on {ADDRESSES[1]}: a file that another process wrote is not there"
        in (failures[0]["found"])
    )
    assert os.listdir(apart / "checkpoints") == []
