"""Slow tests that take turns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from turns import has_its_turn, some_of

RUNS = Path(__file__).parent
TESTS = """
import pytest

@pytest.mark.turns(3)
@pytest.mark.parametrize("n", range(7))
def test_some(n):
    pass

def test_always():
    pass

@pytest.mark.turns(7, together=True)
@pytest.mark.parametrize("n", range(5))
def test_shared(n):
    pass

@pytest.fixture(
    params=[
        pytest.param("one", marks=pytest.mark.turns(2, together=True)),
        pytest.param("other", marks=pytest.mark.turns(2, together=True, shift=1)),
    ]
)
def world(request):
    return request.param

@pytest.mark.parametrize("n", range(3))
def test_worlds(world, n):
    pass

@pytest.mark.turns(3)
@pytest.mark.torture
def test_torture():
    pass

@pytest.mark.turns(3)
@pytest.mark.parametrize("server", [1, 2, pytest.param(3, marks=pytest.mark.connectors)])
@pytest.mark.parametrize("n", range(4))
def test_servers(n, server):
    pass
"""
MARKS = "[pytest]\nmarkers =\n  turns: some\n  torture: all\n  connectors: other servers\n"


def run_on(turn: str, directory: Path) -> set[str]:
    (directory / "test_of_days.py").write_text(TESTS)
    (directory / "pytest.ini").write_text(MARKS)
    words = ["-p", "turns", "-m", "not torture and not connectors", "-v", "-p", "no:cacheprovider"]
    environment = {"PYTHONPATH": str(RUNS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=directory,
        env={**os.environ, **environment, "MILLRACE_TURN": turn},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(re.findall(r"::(\S+) PASSED", done.stdout))


def test_a_day_has_some_and_all_have_their_day(tmp_path: Path) -> None:
    days = [run_on(str(turn), tmp_path) for turn in range(20_000, 20_007)]
    assert all("test_always" in day for day in days)
    some = {f"test_some[{n}]" for n in range(7)}
    shared = {f"test_shared[{n}]" for n in range(5)}
    assert sorted(len(day & some) for day in days[:3]) == [2, 2, 3]
    assert set.union(*days[:3]) & some == some
    assert [day & shared for day in days if day & shared] == [shared]
    worlds = [{name.partition("-")[0] for name in day if "test_worlds" in name} for day in days[:2]]
    assert sorted(worlds, key=sorted) == [{"test_worlds[one"}, {"test_worlds[other"}]
    servers = [{test for test in day if "test_servers" in test} for day in days[:3]]
    assert sorted(map(len, servers)) == [2, 3, 3]
    assert len(set.union(*servers)) == 8


def test_a_run_by_hand_leaves_nothing_out(tmp_path: Path) -> None:
    assert len(run_on("", tmp_path)) == 27


def test_what_is_tried_again_is_not_counted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_ALL_TURNS", "1")
    assert len(run_on("20000", tmp_path)) == 27


@pytest.mark.parametrize("every", [2, 5])
def test_each_test_runs_once_in_its_days(every: int) -> None:
    for index in range(10):
        turns = [has_its_turn(day, every, "tests/a.py", index) for day in range(every)]
        assert sum(turns) == 1


def test_no_day_has_the_first_test_of_every_file() -> None:
    files = [f"tests/test_{number}.py" for number in range(40)]
    for day in range(4):
        assert 0 < sum(has_its_turn(day, 4, file, 0) for file in files) < 25


def test_pages_of_a_test_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [f"/{number}" for number in range(7)]
    monkeypatch.delenv("MILLRACE_TURN", raising=False)
    assert some_of(pages, 3) == pages
    days = []
    for day in range(3):
        monkeypatch.setenv("MILLRACE_TURN", str(20_000 + day))
        days.append(some_of(pages, 3))
    assert sorted(map(len, days)) == [2, 2, 3]
    assert sorted(page for day in days for page in day) == pages
