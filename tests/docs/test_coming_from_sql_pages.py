"""The programs of the pages for those who come from other SQL print what stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from millrace.testing import run_local

PAGES = Path(__file__).parents[2] / "docs" / "sql"


@pytest.mark.parametrize("name", ["coming-from-flink-sql.md", "coming-from-spark-sql.md"])
def test_the_program_of_the_page(name: str, capsys: Any) -> None:
    text = (PAGES / name).read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    with run_local():
        exec(compile(code, name, "exec"), {})
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(printed.splitlines())
