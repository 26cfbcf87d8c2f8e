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
from millrace.runtime.supersteps.local_run import (
    LocalTransport,
    graph_tables,
    local_partition,
    run_tasks,
)
from millrace.runtime.supersteps.superstep_checkpoints import (
    CheckpointPolicy,
    SuperstepCheckpoints,
    claim_checkpoints,
    delete_checkpoints,
)
from millrace.runtime.supersteps.superstep_loop import result_table, run_supersteps
from millrace.runtime.supersteps.task_transport import PeerLostError, TaskTransport

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
    run_id: str = "",
    attempt: str | None = None,
) -> Any:
    def task(transport: TaskTransport) -> Any:
        partition = local_partition(transport, *tables)
        running, exchange = made(), GraphExchange(transport, partition)
        policy = CheckpointPolicy(str(directory), every, None)
        checkpoints = SuperstepCheckpoints(policy, name, partition, run_id, attempt)
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


def test_tasks_of_a_killed_driver_no_longer_write(tmp_path: Path) -> None:
    """They would mix their snapshots with those of the driver's successor, or delete these."""
    directory = str(tmp_path)
    first = claim_checkpoints(directory)
    claimed: list[str] = []

    class Replaced(Components):
        """The successor begins while this program runs."""

        def superstep(self, number: int) -> bool:
            if number == 8 and self.partition.index == 0:
                claimed.append(claim_checkpoints(directory))
            return super().superstep(number)

    with pytest.raises(PeerLostError, match=f"attempt {first} to run components has been replaced"):
        run(Replaced, tmp_path, attempt=first)
    kept = [entry.name for entry in tmp_path.iterdir() if entry.is_dir()]
    assert kept == [f"superstep-00000006-{first}"]
    started: list[int] = []
    table = run(program(started), tmp_path, attempt=claimed[0])
    assert started[0] == 7
    assert components_in(table) == {frozenset(range(13))}
    with pytest.raises(JobExecutionError, match="another program has begun to run"):
        claim_checkpoints(directory, first)
    kept = list(tmp_path.iterdir())
    delete_checkpoints(directory, first)  # it has ended after all; its successor still runs
    assert list(tmp_path.iterdir()) == kept
    delete_checkpoints(directory, claimed[0])
    assert not list(tmp_path.iterdir())
    with pytest.raises(PeerLostError, match="has been replaced"):
        run(program([]), tmp_path, attempt=claimed[0])


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


def valued(vertex_value: Any, edge_values: list[Any], path: list[Any] = PATH) -> tuple[Any, Any]:
    vertices, edges = graph_tables([*path, *((b, a) for a, b in path)])
    values = pa.array([vertex_value] * vertices.num_rows)
    return (
        vertices.append_column("value", values),
        edges.append_column("value", pa.array(edge_values)),
    )


@pytest.mark.parametrize(
    ("first", "other"),
    [(1, 2), (0.5, 1.5), ("a", "b"), ({"a": 1}, {"a": 2}), ([1], [2]), (True, False), (1, None)],
)
def test_checkpoints_of_other_values_are_refused(tmp_path: Path, first: Any, other: Any) -> None:
    edges = [first] * 24
    with pytest.raises(Lost):
        run(program([], dies_at=5), tmp_path, tables=valued(first, edges), run_id="a")
    for tables in (valued(other, edges), valued(first, [*edges[1:], other])):
        if tables[0].schema != valued(first, edges)[0].schema:
            continue
        with pytest.raises(JobExecutionError, match="other values of vertices or edges"):
            run(program([]), tmp_path, tables=tables, run_id="b")
    started: list[int] = []
    with pytest.raises(Lost):
        run(program(started, 5), tmp_path, tables=valued(first, edges), run_id="b")
    assert started == [4, 5]


def test_checkpoints_of_other_parameters_are_refused(tmp_path: Path) -> None:
    def identify(parameters: str) -> Callable[[TaskTransport], Any]:
        def task(transport: TaskTransport) -> Any:
            partition = local_partition(transport, *TABLES)
            policy = CheckpointPolicy(str(tmp_path), 1, None, parameters)
            checkpoints = SuperstepCheckpoints(policy, "paths", partition)
            exchange = GraphExchange(transport, partition)
            newest = checkpoints.newest(exchange)
            checkpoints.write(1, {}, exchange)
            return newest

        return task

    assert run_tasks(identify("source=0"), LocalTransport.of_tasks(1)) == [None]
    assert run_tasks(identify("source=0"), LocalTransport.of_tasks(1)) == [(1, {})]
    with pytest.raises(JobExecutionError, match="parameters: source=0, now source=5"):
        run_tasks(identify("source=5"), LocalTransport.of_tasks(1))


def test_a_repetition_goes_on_though_values_differ(tmp_path: Path) -> None:
    """Spark may compute an average of floats a little differently the next time."""
    with pytest.raises(Lost):
        run(program([], dies_at=5), tmp_path, tables=valued(0.1, [0.5] * 24), run_id="a")
    started: list[int] = []
    run(program(started), tmp_path, tables=valued(0.2, [0.6] * 24), run_id="a")
    assert started[0] == 4


def test_the_order_of_parallel_edges_does_not_matter(tmp_path: Path) -> None:
    twice = [*PATH, PATH[3]]
    values = [float(number) for number in range(2 * len(twice))]
    with pytest.raises(Lost):
        run(program([], dies_at=5), tmp_path, tables=valued(1, values, twice), run_id="a")
    values[3], values[12] = values[12], values[3]
    started: list[int] = []
    run(program(started), tmp_path, tables=valued(1, values, twice), run_id="b")
    assert started[0] == 4


def test_values_of_a_class_that_cannot_be_imported(tmp_path: Path) -> None:
    class Local:
        def __init__(self, number: int) -> None:
            self.number = number

    class Holding(Components):
        state = (*Components.state, "held")
        held = Local(0)

        def superstep(self, number: int) -> bool:
            assert isinstance(self.held, Local)
            if number == 5 and not again:
                raise Lost
            if again:
                restored.append(self.held.number)
            self.held = Local(number)
            return super().superstep(number)

    restored: list[int] = []
    again = False
    with pytest.raises(Lost):
        run(Holding, tmp_path, parallelism=1)
    again = True
    run(Holding, tmp_path, parallelism=1)
    assert restored[0] == 3


def test_seconds_make_a_checkpoint_due(tmp_path: Path) -> None:
    def task(transport: TaskTransport) -> tuple[bool, bool]:
        partition = local_partition(transport, *TABLES)
        at_once = SuperstepCheckpoints(CheckpointPolicy(str(tmp_path), None, 0.0), "", partition)
        late = SuperstepCheckpoints(CheckpointPolicy(str(tmp_path), None, 1e6), "", partition)
        return at_once.is_due(1), late.is_due(1)

    assert run_tasks(task, LocalTransport.of_tasks(1)) == [(True, False)]
