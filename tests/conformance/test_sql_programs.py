"""Every program of tables of the conformance suite gives what PyFlink gave when it was recorded.

``make conformance`` runs PyFlink itself; here its committed results stand in.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.millrace_sql_side import run_in_process
from conformance.program import HOME
from conformance.relational import RelationalProgram, pages, programs
from conformance.sql_outputs import same

from conformance import expected_sql

LEAST = 600
PROGRAMS = programs()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.path)
def test_a_program_gives_what_was_recorded(program: RelationalProgram) -> None:
    wanted = expected_sql.wanted(program)
    assert wanted is not None, "no result is committed: run make conformance ARGS=--write"
    found, error = run_in_process(program)
    # the second comparison is for pytest to show
    assert same(found, wanted) or found == wanted, error


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
