"""The page about functions of one's own: its programs print what stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "sql" / "functions.md"


def test_the_programs_of_the_page(capsys: Any) -> None:
    """They go on from one another; rows come in any order."""
    text = PAGE.read_text(encoding="utf-8")
    pairs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(pairs) == text.count("```python")
    names: dict[str, Any] = {}
    for code, printed in pairs:
        with run_local():
            exec(compile(code, str(PAGE), "exec"), names)
        shown = capsys.readouterr().out
        assert sorted(shown.splitlines()) == sorted(printed.splitlines())
