"""The tests on the page about testing pass."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

from millrace.testing import trace

ROOT = Path(__file__).parents[2]
FILE = re.compile(r'```python title="(?P<name>\w+\.py)"\n(?P<code>.*?)```', re.DOTALL)


def test_the_page_as_a_project(tmp_path: Path) -> None:
    files = list(FILE.finditer((ROOT / "docs" / "testing.md").read_text(encoding="utf-8")))
    for file in files:
        (tmp_path / file["name"]).write_text(file["code"], encoding="utf-8")
    tests = sum(file["code"].count("\ndef test_") for file in files)
    assert tests > 5
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{tests} passed" in done.stdout, done.stdout + done.stderr


def test_the_page_shows_what_a_trace_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    [program] = [file["code"] for file in FILE.finditer(page) if file["name"] == "test_pattern.py"]
    path = tmp_path / "pattern.py"
    path.write_text(program, encoding="utf-8")
    probed = runpy.run_path(str(path))["probed"]
    told = trace(probed, [5, 900.5], timestamps=[0, 30_000])
    assert f'```text title="print(told)"\n{told}\n```' in page
