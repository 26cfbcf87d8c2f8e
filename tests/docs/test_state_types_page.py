"""The programs on the page about types of state run, and print what the page says."""

from __future__ import annotations

import re
import runpy
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "state-schema-evolution.md"
BLOCK = re.compile(r'```(?:python|text) title="(?P<name>[^"]+)"\n(?P<text>.*?)```', re.DOTALL)
BLOCKS = {match["name"]: match["text"] for match in BLOCK.finditer(PAGE.read_text("utf-8"))}


@pytest.mark.parametrize("program", ["evolve.py", "serializer.py"])
def test_what_the_page_says(program: str, tmp_path: Path) -> None:
    """To the last letter."""
    (tmp_path / program).write_text(BLOCKS[program], "utf-8")
    output = StringIO()
    with redirect_stdout(output):
        runpy.run_path(str(tmp_path / program), run_name="__main__")
    assert output.getvalue() == BLOCKS[f"{program} prints"]
