"""Superstep programs as Spark jobs with a barrier stage."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from tests.runtime.supersteps import component_program
from tests.runtime.supersteps.component_program import Components
from tests.runtime.supersteps.random_graph import (
    both_ways,
    components_in,
    components_of,
    random_graph,
    tables_of,
)

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.runtime.supersteps.superstep_checkpoints import CheckpointPolicy
from millrace.spark.graphs.frames import collected, frame_of, free
from millrace.spark.graphs.superstep_job import (
    SuperstepSettings,
    _refuse_dynamic_allocation,
    _require_loss,
    _without_errors,
    run_supersteps_on_spark,
)

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("component", pa.int64())])
PATH = [(number, number + 1) for number in range(12)]


@pytest.fixture(autouse=True)
def _workers_know_the_programs(spark: Any) -> Iterator[None]:
    cloudpickle.register_pickle_by_value(component_program)
    yield
    cloudpickle.unregister_pickle_by_value(component_program)


def frames(ids: list[Any], edges: list[Any]) -> tuple[Any, Any]:
    vertex_table, edge_table = tables_of(ids, both_ways(edges))
    return frame_of(vertex_table), frame_of(edge_table)


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", [4, 9])
def test_components(seed: int) -> None:
    """Ids that are numbers, and ids that are texts."""
    ids, edges = random_graph(seed)
    vertices, edge_frame = frames(ids, edges)
    schema = pa.schema([("id", pa.array(ids).type), ("component", pa.int64())])
    table = collected(run_supersteps_on_spark(vertices, edge_frame, Components, schema))
    assert sorted(table["id"].to_pylist()) == sorted(ids)
    assert components_in(table) == components_of(ids, edges)


@pytest.mark.turns(5)
def test_a_worker_is_killed_and_the_run_goes_on(tmp_path: Path) -> None:
    """The repeated run begins after the newest checkpoint."""
    killed, log = tmp_path / "killed", tmp_path / "log"

    class Killed(Components):
        def superstep(self, number: int) -> bool:
            if self.partition.index == 0:
                with log.open("a") as file:
                    file.write(f"{number}\n")
            elif number == 8 and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().superstep(number)

    policy = CheckpointPolicy(str(tmp_path / "checkpoints"), 3, None)
    settings = SuperstepSettings("kills", 2, policy)
    result = run_supersteps_on_spark(*frames([], PATH), Killed, SCHEMA, settings)
    assert components_in(collected(result)) == {frozenset(range(13))}
    numbers = [int(line) for line in log.read_text().split()]
    again = numbers.index(8) + 1
    assert numbers[:again] == [*range(1, 9)]
    assert numbers[again] == 7
    assert not list((tmp_path / "checkpoints").iterdir())


@pytest.mark.turns(5)
def test_a_worker_that_dies_each_time() -> None:
    class Dying(Components):
        def superstep(self, number: int) -> bool:
            os._exit(3)

    settings = SuperstepSettings("deaths", 2, restarts=1)
    with pytest.raises(JobExecutionError, match=r"deaths: a process was lost 2 times; the last"):
        run_supersteps_on_spark(*frames([], PATH), Dying, SCHEMA, settings)


@pytest.mark.turns(5)
def test_a_result_is_freed(spark: Any) -> None:
    kept = spark.sparkContext._jsc.getPersistentRDDs
    before = set(kept().keySet())
    result = run_supersteps_on_spark(*frames([], PATH), Components, SCHEMA)
    assert set(kept().keySet()) > before
    free(result)
    assert set(kept().keySet()) == before


@pytest.mark.turns(5)
def test_an_error_of_a_repeated_computation(spark: Any) -> None:
    """Spark computes lost parts of a result again. The report of an error is no row of it."""
    rows = spark.createDataFrame([(1, None)], "id LONG, _error STRING")
    assert _without_errors(rows).collect() == [(1,)]
    report = json.dumps({"message": "of a function"})
    rows = spark.createDataFrame([(1, None), (None, report)], "id LONG, _error STRING")
    with pytest.raises(JobExecutionError, match="of a function"):
        collected(_without_errors(rows))


@pytest.mark.turns(5)
def test_an_error_of_a_program() -> None:
    class Failing(Components):
        def superstep(self, number: int) -> bool:
            if self.partition.index == 1 and number == 2:
                raise ZeroDivisionError("of a program")
            return super().superstep(number)

    settings = SuperstepSettings("failing", 2)
    with pytest.raises(JobExecutionError, match="(?s)failing failed\n.*ZeroDivisionError: of a"):
        run_supersteps_on_spark(*frames([], PATH), Failing, SCHEMA, settings)


@pytest.mark.turns(5)
def test_a_module_that_workers_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is not repeated, though a barrier stage fails as if a process was lost."""
    module = ModuleType("only_in_the_driver")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def made() -> Components:
        return Components()

    made.__module__, made.__qualname__ = module.__name__, "made"
    module.made = made  # type: ignore[attr-defined]
    settings = SuperstepSettings("imports", 2, None, 0)
    with pytest.raises(
        JobExecutionError, match="(?s)imports failed.*No module named 'only_in_the_driver'"
    ):
        run_supersteps_on_spark(*frames([], PATH), made, SCHEMA, settings)

    text = "barrier task\nTraceback (most recent call last):\nImportError: cannot import name 'x'\n"
    with pytest.raises(JobExecutionError, match="a worker cannot load the program: .*'x'. Install"):
        _require_loss(Py4JError(text), 1, settings)


@pytest.mark.turns(5)
def test_too_few_slots_are_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.spark.graphs.superstep_job._FIRST_PATIENCE", 0.0)
    settings = SuperstepSettings(parallelism=3)
    with pytest.raises(JobExecutionError, match="needs 3 slots at the same time, and .* has 2"):
        run_supersteps_on_spark(*frames([], PATH), Components, SCHEMA, settings)


@pytest.mark.turns(5)
@pytest.mark.parametrize("value", ["true", "True"])
def test_dynamic_allocation_is_refused_by_name(value: str) -> None:
    settings = {"spark.dynamicAllocation.enabled": value}
    context: Any = SimpleNamespace(getConf=lambda: settings)
    with pytest.raises(JobExecutionError, match=r"dynamicAllocation.enabled=true: set it to false"):
        _refuse_dynamic_allocation(context)


@pytest.mark.turns(5)
def test_ids_that_are_rows_are_refused() -> None:
    table = pa.table({"id": [{"a": 1}]})
    edges = pa.table({"source": [{"a": 1}], "target": [{"a": 1}]})
    with pytest.raises(JobDefinitionError, match="translate them"):
        run_supersteps_on_spark(frame_of(table), frame_of(edges), Components, SCHEMA)
