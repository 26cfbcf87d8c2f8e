"""The page on models: its programs run on Spark, with real flights, and say what stands here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "sql" / "machine-learning.md"
BLOCK = re.compile(r"```python title=\"(\w+)\"\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.turns(7)
@pytest.mark.spark
def test_the_programs_of_the_page(spark: Any, capsys: Any) -> None:
    """They go on from one another."""
    pytest.importorskip("pandas")
    names: dict[str, Any] = {"spark": spark}
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert [title for title, *_ in blocks] == ["train", "score", "watch", "version"]
    for title, code, printed in blocks:
        exec(compile(code, f"{PAGE.name}: {title}", "exec"), names)
        shown = capsys.readouterr().out
        assert shown == printed, title
