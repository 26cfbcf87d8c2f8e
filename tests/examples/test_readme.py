"""Programs of the README and the first pages are those in the examples, and print what is said;
tests/docs/test_home_page.py runs those of the home page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.datastream.job_launcher import JobLauncher
from millrace.testing.local_executor import LocalExecutor

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "unpaid_orders.py",
    "docs/getting-started.md": "unpaid_orders.py",
}


@pytest.fixture(autouse=True)
def _in_process() -> Iterator[None]:
    JobLauncher.install(JobLauncher(executor=lambda *_: LocalExecutor(2)))
    yield
    JobLauncher.install(None)


@pytest.mark.parametrize(("page", "name"), PAGES.items())
def test_the_program_prints_what_it_says(
    page: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    assert program == (ROOT / "examples" / name).read_text(encoding="utf-8")
    exec(compile(program, page, "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert printed
    assert f"{name}\n{printed}```" in text
