"""Every program of tables of the conformance suite gives what PyFlink gave when it was recorded.

``make conformance`` runs PyFlink itself; here its committed results stand in.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.millrace_sql_side import run_in_process, run_on_resident_tasks
from conformance.program import HOME
from conformance.relational import RelationalProgram, pages, programs
from conformance.sql_outputs import folded, same

from conformance import expected_sql

LEAST = 600
PROGRAMS = programs()
STREAMING = [program for program in PROGRAMS if not program.is_batch]
CHANGELOGS = [program for program in STREAMING if program.is_changelog]


@pytest.mark.turns(5)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.path)
def test_a_program_gives_what_was_recorded(program: RelationalProgram) -> None:
    wanted = expected_sql.wanted(program)
    assert wanted is not None, "no result is committed: run make conformance ARGS=--write"
    found, error = run_in_process(program)
    # the second comparison is for pytest to show
    assert same(found, wanted) or found == wanted, error


@pytest.mark.all_examples
@settings(max_examples=len(STREAMING) // 10, deadline=None)
@given(st.sampled_from(STREAMING))
def test_a_drawn_tenth_agrees_on_resident_tasks(program: RelationalProgram) -> None:
    """``make conformance`` runs all programs there."""
    found, error = run_on_resident_tasks(program)
    wanted = expected_sql.wanted(program)
    if program.is_changelog:
        found, wanted = folded(found), folded(wanted or [])
    assert same(found, wanted) or found == wanted, (program.path, error)


@pytest.mark.parametrize("program", CHANGELOGS, ids=lambda program: program.path)
def test_with_a_buffer_timeout_of_0_each_record_gives_its_changes(
    program: RelationalProgram,
) -> None:
    """With 0 ms each record is processed alone, as in Flink without mini-batch. Only those programs
    whose changes are net on epochs may have more here."""
    alone = {"execution.buffer-timeout.interval": "0 ms"}
    found, error = run_on_resident_tasks(program, **alone)
    wanted = expected_sql.wanted(program)
    if program.difference:
        found, wanted = folded(found), folded(wanted or [])
    assert found == wanted, error


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= LEAST


def test_every_committed_result_has_its_program() -> None:
    kept = {path.name.split(".")[0] for path in expected_sql.DIRECTORY.glob("*.json")}
    assert kept == set(pages())


def test_listed_programs_do_differ() -> None:
    """A listed difference that is none any more must leave the list."""
    for program in PROGRAMS:
        if program.difference:
            assert expected_sql.read(program) != expected_sql.read(program, "millrace")


def test_differences_are_documented() -> None:
    page = (HOME.parent / "docs" / "deviations.md").read_text()
    for program in PROGRAMS:
        assert program.difference in page, program.path
