"""The page about connectors of SQL: its program prints what stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "sql" / "connectors.md"


def test_the_program_of_the_page(capsys: Any) -> None:
    text = PAGE.read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    printed = re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0]
    with run_local():
        exec(compile(code, str(PAGE), "exec"), {})
    shown = capsys.readouterr().out
    assert sorted(shown.splitlines()) == sorted(printed.splitlines())


def test_the_page_is_in_the_navigation() -> None:
    assert "sql/connectors.md" in (PAGE.parents[2] / "mkdocs.yml").read_text(encoding="utf-8")
