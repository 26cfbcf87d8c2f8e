"""Sizes of property tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import drawn
import pytest

PROPERTY = """
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

drawn = []

@pytest.mark.parametrize("n", [1, 2])
@settings(max_examples=90, database=None)
@given(st.integers())
def test_property(n, value):
    drawn.append(value)

def test_count():
    print(f"{len(drawn)} were drawn")
"""


@pytest.mark.parametrize(("turn", "count"), [("", 180), ("20000", 60)])
def test_a_run_by_turns_draws_fewer(turn: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "test_property.py").write_text(PROPERTY)
    plugins = {
        "PYTHONPATH": str(Path(drawn.__file__).parent),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "drawn", "-p", "no:cacheprovider", "-s"],
        cwd=tmp_path,
        env={**os.environ, **plugins, "MILLRACE_TURN": turn},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert f"{count} were drawn" in done.stdout, done.stdout + done.stderr


def test_few_examples_stay() -> None:
    assert [drawn.fewer(count) for count in (2, 14, 20, 60, 100, 300)] == [2, 14, 15, 20, 33, 100]


def test_long_runs_draw_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLRACE_EXAMPLES", raising=False)
    assert drawn.job_examples(8) == 8
    monkeypatch.setenv("MILLRACE_EXAMPLES", "10")
    assert drawn.job_examples(8) == 80
