"""The first program of the page about Stateful Functions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "statefun" / "index.md"


def test_the_first_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("statefun")
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    with run_local():
        exec(compile(program, str(PAGE), "exec"), {"__name__": "page"})
    assert capsys.readouterr().out.strip() == (
        "['Hello Ada, number 1', 'Hello Ada, number 2', 'Hello Grace, number 1']"
    )
