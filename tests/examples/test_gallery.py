"""An application of the gallery on Spark: its alerts are those of the local executor."""

from __future__ import annotations

from pathlib import Path

import judge
import machines
import pytest
import train
import watch

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local


def alerts(directory: Path) -> set[judge.Alert]:
    """What the job finds in the readings of a directory."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    watch.watch(env, directory)
    env.execute("machines")
    found = judge.read_alerts(directory / "alerts")
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.turns(7)
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_sensors_on_spark(tmp_path: Path) -> None:
    """SQL windows, a model, a process function and two inserts in one job."""
    here, there = tmp_path / "local", tmp_path / "spark"
    for directory in (here, there):
        machines.write(directory / "data")
    with run_local():
        train.train(here)
        expected = alerts(here)
    (there / "model.json").write_text((here / "model.json").read_text())
    assert alerts(there) == expected
    assert expected
