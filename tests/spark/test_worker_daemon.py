"""The daemon that forks the workers of local applications."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from millrace.spark import session

KEY = "spark.python.daemon.module"


def test_what_is_loaded_before_the_fork_starts_no_thread() -> None:
    """A fork copies only the thread that forks."""
    program = (
        "import os, sys, millrace.spark.worker_daemon\n"
        "print(len(os.listdir('/proc/self/task')))\n"
        "print([name for name in ('numpy', 'pyarrow', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["1", "[]"]


def test_only_workers_on_this_machine_have_the_daemon() -> None:
    """Those of a cluster may find Millrace only among the job's files."""
    for master, has_it in {
        "local[2]": True,
        "spark://192.0.2.1:7077": False,
        "yarn": False,
    }.items():
        assert (KEY in session.spark_settings({"spark.master": master})) == has_it
    own = {"spark.master": "local[2]", KEY: "pyspark.daemon"}
    assert session.spark_settings(own)[KEY] == "pyspark.daemon"


def test_files_in_an_archive_are_not_loaded_by_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "__file__", "/tmp/millrace.zip/millrace/spark/session.py")
    assert KEY not in session.spark_settings({"spark.master": "local[2]"})


@pytest.mark.spark
def test_workers_are_forked_with_the_modules_of_tasks(spark: Any) -> None:
    def loaded(_: int) -> bool:
        daemon: Any = sys.modules["__main__"]
        return bool(daemon.__spec__.name == "millrace.spark.worker_daemon")

    numbers = spark.sparkContext.parallelize(range(2), 2)
    assert numbers.map(loaded).collect() == [True, True]
