"""The page about SQL: its program prints what stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from millrace.testing import run_local

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sql" / "index.md"


@pytest.mark.parametrize("page", [PAGE, ROOT / "README.md"], ids=lambda page: page.name)
def test_the_program_of_the_page(page: Path, capsys: Any) -> None:
    text = page.read_text(encoding="utf-8")
    text = text[text.index("# SQL") :]
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    printed = re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0]
    with run_local():
        exec(compile(code, str(page), "exec"), {})
    shown = capsys.readouterr().out
    assert sorted(shown.splitlines()) == sorted(printed.splitlines())


def test_the_page_is_in_the_navigation() -> None:
    assert "sql/index.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
