"""The program in the README is the one in the examples, and prints what the README says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.datastream.job_launcher import JobLauncher
from millrace.testing.local_executor import LocalExecutor

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "unpaid_orders.py"


@pytest.fixture(autouse=True)
def _in_process() -> Iterator[None]:
    JobLauncher.install(JobLauncher(executor=lambda *_: LocalExecutor(2)))
    yield
    JobLauncher.install(None)


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_the_program_prints_what_it_says(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert program == PROGRAM.read_text(encoding="utf-8")
    exec(compile(program, page, "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert printed
    assert f"unpaid_orders.py\n{printed}```" in text
