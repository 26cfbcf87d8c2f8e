"""A job reads what it is allowed to, and lasts as long as its test needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common import WatermarkStrategy
from millrace.common.source import ReaderContext, SourceSplit
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing import run_local
from millrace.testing.allowance import Allowance, AllowedNumbers
from millrace.testing.resident_tasks import local_resident_executor


def test_a_reader_gives_the_numbers_of_its_split_as_far_as_they_are_allowed(tmp_path: Path) -> None:
    allowance = Allowance(tmp_path / "allowed", share=5)
    source, context = AllowedNumbers(allowance, splits=2), ReaderContext(0, 1, lambda: 0)
    reader = source.create_split_reader(SourceSplit("1"), None, context)
    assert reader.read(1).values == [1]
    assert reader.read(9).values == [3]
    assert reader.read(9).values == []
    allowance.add(2)
    goes_on = source.create_split_reader(SourceSplit("1"), reader.position(), context)
    assert goes_on.read(9).values == [5]
    assert not goes_on.finished()
    allowance.end()
    allowance.add(2)
    assert goes_on.finished()
    assert allowance.count == 7


def test_the_next_process_of_a_job_has_something_to_read(tmp_path: Path) -> None:
    Allowance(tmp_path / "allowed", share=5)
    assert Allowance(tmp_path / "allowed", share=5).count == 10


@pytest.mark.parametrize("executor", ["epochs", "resident"])
def test_a_job_lives_through_as_many_epochs_as_its_test_needs(
    executor: str, tmp_path: Path
) -> None:
    settings = ResidentSettings(barrier_interval=1)
    made = {"epochs": None, "resident": lambda: local_resident_executor(2, settings)}
    allowance, epochs = Allowance(tmp_path / "allowed", share=10), [0]
    with run_local(executor=made[executor]) as cluster:
        cluster.listeners.append(lambda details: epochs.__setitem__(0, details.epochs))
        cluster.listeners.append(allowance.grow_until(lambda: epochs[0] >= 20, further_epochs=3))
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        source = AllowedNumbers(allowance, splits=3)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        found = sorted(numbers.rebalance().map(lambda number: number).execute_and_collect())
    assert found == list(range(allowance.count))
    assert epochs[0] >= 23
