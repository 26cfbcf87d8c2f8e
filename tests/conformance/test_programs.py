"""Every program of the conformance suite gives on millrace what PyFlink gave when it was recorded.

``make conformance`` runs PyFlink itself; here its committed outputs stand in.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.millrace_side import run_in_process, run_on_resident_tasks
from conformance.outputs import difference, lines
from conformance.program import names

from conformance import expected_output

LEAST = 60


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", names())
def test_a_program_gives_what_was_recorded(name) -> None:
    wanted = expected_output.wanted(name)
    assert wanted is not None, "no output is committed: run make conformance ARGS=--write"
    assert difference(wanted, run_in_process(name)) == ""


@pytest.mark.all_examples
@settings(max_examples=len(names()) // 10, deadline=None)
@given(st.sampled_from(names()))
def test_a_drawn_tenth_agrees_on_resident_tasks(name) -> None:
    """``make conformance`` runs all programs there."""
    assert difference(expected_output.wanted(name), run_on_resident_tasks(name)) == ""


def test_there_are_enough_programs() -> None:
    assert len(names()) >= LEAST


def test_every_committed_output_has_its_program() -> None:
    kept = {path.name.split(".")[0] for path in expected_output.EXPECTED.glob("*.json")}
    assert kept == set(names())


def test_listed_programs_do_differ() -> None:
    """A listed deviation that is none any more must leave the list."""
    for name in expected_output.listed():
        theirs, ours = expected_output.read(name), expected_output.read(name, "millrace")
        assert ours is not None
        assert theirs is None or difference(theirs, ours)


def test_differences_are_those_of_multisets() -> None:
    assert difference(lines([1, 1, (2, "a")]), lines([[2, "a"], 1, 1])) == ""
    assert difference(lines([1, 1]), lines([1, None])) == "1 missing: 1; 1 unexpected: null"
