"""The tests on the page about testing pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
