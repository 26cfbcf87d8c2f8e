"""Checkpoints between supersteps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.runtime.supersteps.component_program import Components
from tests.runtime.supersteps.random_graph import components_in

from millrace.common.errors import JobExecutionError
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.local_run import graph_tables, local_partition, run_tasks
from millrace.runtime.supersteps.local_transport import LocalTransport
from millrace.runtime.supersteps.superstep_checkpoints import (
    CheckpointPolicy,
    SuperstepCheckpoints,
    delete_checkpoints,
)
from millrace.runtime.supersteps.superstep_loop import result_table, run_supersteps
from millrace.runtime.supersteps.task_transport import TaskTransport

PATH = [(number, number + 1) for number in range(12)]
TABLES = graph_tables([*PATH, *((target, source) for source, target in PATH)])


class Lost(Exception):
    """A task is lost."""


def program(started: list[int], dies_at: int = 0) -> Callable[[], Components]:
    class Counted(Components):
        def superstep(self, number: int) -> bool:
            if self.partition.index == 0:
                started.append(number)
            if number == dies_at and self.partition.index == 1:
                raise Lost
            return super().superstep(number)

    return Counted


def run(
    made: Callable[[], Components],
    directory: Path,
    every: int = 3,
    tables: tuple[Any, Any] = TABLES,
    parallelism: int = 2,
    name: str = "components",
) -> Any:
    def task(transport: TaskTransport) -> Any:
        partition = local_partition(transport, *tables)
        running, exchange = made(), GraphExchange(transport, partition)
        policy = CheckpointPolicy(str(directory), every, None)
        checkpoints = SuperstepCheckpoints(policy, name, partition)
        run_supersteps(running, partition, exchange, checkpoints)
        return result_table(running)

    return pa.concat_tables(run_tasks(task, LocalTransport.of_tasks(parallelism)))


def test_a_repeated_run_goes_on_from_the_newest_checkpoint(tmp_path: Path) -> None:
    started: list[int] = []
    with pytest.raises(Lost):
        run(program(started, dies_at=8), tmp_path)
    assert started == [*range(1, 9)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["superstep-00000006"]
    started.clear()
    table = run(program(started), tmp_path)
    assert started[0] == 7
    assert components_in(table) == {frozenset(range(13))}


def test_a_checkpoint_without_all_tasks_does_not_count(tmp_path: Path) -> None:
    started: list[int] = []
    with pytest.raises(Lost):
        run(program(started, dies_at=5), tmp_path)
    (tmp_path / "superstep-00000003" / "complete").rename(tmp_path / "kept")
    started.clear()
    with pytest.raises(Lost):
        run(program(started, dies_at=2), tmp_path)
    assert started == [1, 2]


def test_checkpoints_of_another_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Lost):
        run(program([], dies_at=5), tmp_path)
    with pytest.raises(JobExecutionError, match="program: components, now other"):
        run(program([]), tmp_path, name="other")
    with pytest.raises(JobExecutionError, match="parallelism: 2, now 3"):
        run(program([]), tmp_path, parallelism=3)
    pairs = [(a + 1, b + 1) for a, b in PATH]
    shifted = graph_tables([*pairs, *((b, a) for a, b in pairs)])
    with pytest.raises(JobExecutionError, match="another run .other ids or edges"):
        run(program([]), tmp_path, tables=shifted)
    delete_checkpoints(str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_seconds_make_a_checkpoint_due(tmp_path: Path) -> None:
    def task(transport: TaskTransport) -> tuple[bool, bool]:
        partition = local_partition(transport, *TABLES)
        at_once = SuperstepCheckpoints(CheckpointPolicy(str(tmp_path), None, 0.0), "", partition)
        late = SuperstepCheckpoints(CheckpointPolicy(str(tmp_path), None, 1e6), "", partition)
        return at_once.is_due(1), late.is_due(1)

    assert run_tasks(task, LocalTransport.of_tasks(1)) == [(True, False)]
