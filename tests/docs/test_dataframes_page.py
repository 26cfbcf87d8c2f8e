"""The page on DataFrames and tables: its program for Spark runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from millrace.table import EnvironmentSettings

PAGE = Path(__file__).parents[2] / "docs" / "sql" / "dataframes.md"


@pytest.mark.turns(7)
@pytest.mark.spark
def test_the_program_for_spark(spark: Any, capsys: Any) -> None:
    [code] = re.findall(r"```python title=\"Spark\"\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {"spark": spark, "EnvironmentSettings": EnvironmentSettings}
    exec(compile(code, str(PAGE), "exec"), names)
    odd, large = capsys.readouterr().out.splitlines()
    assert all(number % 2 for number in eval(odd))
    assert large == "[Row(code='FR', millions=68)]"
