"""The page about MATCH_RECOGNIZE: its examples give what stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from millrace.testing import run_local

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sql" / "match-recognize.md"


def test_the_examples_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    printed = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    queries = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    assert len(printed) == len(queries) + 1
    names: dict[str, Any] = {}
    with run_local():
        exec(compile(code, str(PAGE), "exec"), names)
        assert capsys.readouterr().out == printed[0]
        for query, expected in zip(queries, printed[1:], strict=True):
            rows = names["t_env"].execute_sql(query).collect()
            assert [" ".join(map(str, row)) for row in rows] == expected.splitlines()


def test_the_page_is_in_the_navigation() -> None:
    assert "sql/match-recognize.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
