"""The cells of the page on notebooks run one after the other, and print what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs/notebooks.md").read_text(encoding="utf-8")
CELLS = re.compile(r'```python title="(.*?)"\n(.*?)```\n(?:\n```text\n(.*?)```)?', re.DOTALL)


@pytest.mark.spark
def test_the_cells(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    notebook: dict[str, Any] = {"__name__": "__main__"}
    cells = CELLS.findall(PAGE)
    assert len(cells) == 5
    for title, code, printed in cells:
        exec(compile(code, title, "exec"), notebook)
        assert capsys.readouterr().out == printed, title
    assert notebook["spark"].sparkContext is spark.sparkContext
