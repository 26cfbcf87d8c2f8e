"""The page about functions of users in SQL: its program prints what stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "sql" / "functions.md"


def test_the_program_of_the_page(capsys: Any) -> None:
    text = PAGE.read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    with run_local():
        exec(compile(code, str(PAGE), "exec"), {})
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(printed.splitlines())
