"""Subtasks that a worker has no memory for get their state with the plan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.memory_size import MemorySize
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.epoch_runner import EpochRunner
from millrace.testing import Faults, run_local

WHOLE = Counter(sum(range(n % 5, n + 1, 5)) for n in range(40))


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often each epoch was run."""
    counted: Counter[int] = Counter()
    run = EpochRunner.run

    def counting(self: EpochRunner, plan: Any, deployment: Any) -> Any:
        counted[plan.epoch] += 1
        return run(self, plan, deployment)

    monkeypatch.setattr(EpochRunner, "run", counting)
    return counted


def sums(path: Path, **settings: Any) -> Counter[int]:
    configuration = Configuration()
    configuration.set(options.STATE_MEMORY_CAP, MemorySize.parse("1b"))
    with run_local(epoch_records=2, checkpoint_dir=str(path), **settings):
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(4).enable_checkpointing(0)
        numbers = env.from_collection(range(40)).set_parallelism(1).rebalance()
        return Counter(numbers.key_by(lambda n: n % 5).sum().execute_and_collect("sums"))


def test_an_epoch_runs_once_although_its_subtasks_are_evicted(
    tmp_path: Path, attempts: Counter[int]
) -> None:
    assert sums(tmp_path) == WHOLE
    assert len(attempts) > 10
    assert set(attempts.values()) == {1}


@pytest.mark.parametrize("seed", range(3))
def test_lost_epochs_and_workers_do_not_matter(seed: int, tmp_path: Path) -> None:
    faults = Faults(lost_workers=0.2, lost_epochs=0.2)
    assert sums(tmp_path, workers=2, seed=seed, faults=faults) == WHOLE
