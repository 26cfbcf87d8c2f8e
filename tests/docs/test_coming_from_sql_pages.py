"""The programs of the pages for those who come from other SQL print what stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from millrace.common import RowKind
from millrace.table import EnvironmentSettings, TableEnvironment
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


def test_the_changelog_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (PAGES / "coming-from-flink-sql.md").read_text(encoding="utf-8")
    [statements] = re.findall(r'```sql title="totals.sql"\n(.*?)```', text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    totals: dict[int, int] = {}
    with run_local():
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        *before, query = statements.strip().removesuffix(";").split(";\n\n")
        for statement in before:
            t_env.execute_sql(statement)
        with t_env.execute_sql(query).collect() as rows:
            for row in rows:
                item, n = row
                if row.get_row_kind() is RowKind.DELETE:
                    del totals[item]
                else:
                    totals[item] = n
    assert totals == {0: 3, 1: 3, 2: 3}
    assert {path.suffix for path in (tmp_path / "totals").iterdir()} == {".debezium-json"}
