"""Every program of the Table API in the conformance suite has a twin in SQL with the same plan, or
says why it has none.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.millrace_plans import Plans, plans_of
from conformance.millrace_sql_side import environment
from conformance.table_program import TableProgram, Twin

from conformance import table_program
from millrace.common.errors import JobDefinitionError
from millrace.table import Table, TableEnvironment
from millrace.testing import run_local

PROGRAMS = [program for page in table_program.pages() for program in table_program.load(page)]
TWINS = [program for program in PROGRAMS if program.notes.twin]
MOST_WITHOUT = 0.12


def function_of(program: TableProgram, directory: Path) -> Any:
    [step] = program.steps(directory)
    return step.args[0]


def with_elements_as_a_view(t_env: TableEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("from_elements", "from_pandas"):
        original = getattr(t_env, name)

        def named(*args: Any, original: Any = original, **kwargs: Any) -> Table:
            made: Table = original(*args, **kwargs)
            t_env.create_temporary_view("elements", made)
            return made

        monkeypatch.setattr(t_env, name, named)


def run_twin(t_env: TableEnvironment, twin: Twin) -> Table:
    for name, function in twin.functions:
        t_env.create_temporary_system_function(name, function)
    *statements, query = twin.statements
    for statement in statements:
        t_env.execute_sql(statement).wait()
    return t_env.sql_query(query)


def reason_of(error: Exception) -> str:
    """What is wrong, without where; the names of classes and of functions in SQL differ in case."""
    said = re.sub(r"\Aline \d+, column \d+: ", "", str(error)).splitlines()[0]
    return said.lower().replace("_", "")


@pytest.mark.parametrize("program", TWINS, ids=lambda program: program.path)
def test_a_program_has_the_plan_of_its_twin(
    program: TableProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = program.notes.twin
    assert twin is not None
    with run_local():
        t_env = environment(program)
        with_elements_as_a_view(t_env, monkeypatch)
        made = plans_of(partial(function_of(program, tmp_path), t_env))
        wanted = plans_of(partial(run_twin, t_env, twin))
    if made.error or wanted.error:
        assert isinstance(made.error, JobDefinitionError), made.error
        assert isinstance(wanted.error, JobDefinitionError), wanted.error
        assert reason_of(made.error) == reason_of(wanted.error)
    else:
        assert made.trees, "nothing was planned"
    assert made.trees == wanted.trees
    if made.columns:
        assert made.columns == wanted.columns


def test_every_program_has_a_twin_or_a_reason() -> None:
    for program in PROGRAMS:
        assert bool(program.notes.twin) != bool(program.notes.reason_without_twin), program.path
    assert len(PROGRAMS) - len(TWINS) <= MOST_WITHOUT * len(PROGRAMS)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, price * 3 FROM orders",
        "SELECT id, CAST(price * 2 AS DECIMAL(20, 2)) FROM orders",
        "SELECT id, price * 2 FROM orders WHERE id > 0",
        "SELECT amount, price * 2 FROM orders",
        "SELECT id, MAX(price * 2) FROM orders GROUP BY id",
    ],
)
def test_other_plans_are_told_apart(query: str, tmp_path: Path) -> None:
    [program] = [each for each in PROGRAMS if each.path == "table-operations/select"]
    with run_local():
        t_env = environment(program)
        made = plans_of(partial(function_of(program, tmp_path), t_env))
        other = plans_of(partial(t_env.sql_query, query))
    assert isinstance(made, Plans)
    assert not made.error
    assert not other.error
    assert made.trees != other.trees
