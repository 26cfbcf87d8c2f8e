"""Doctests of a module that its own package imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUNS = Path(__file__).parent

MODULE = """
class Part:
    '''
    >>> import whole, whole.part
    >>> whole.Part is Part is whole.part.Part
    True
    '''
"""


def test_a_module_exists_once_although_its_package_imports_it(tmp_path: Path) -> None:
    package = tmp_path / "src" / "whole"
    package.mkdir(parents=True)
    (package / "part.py").write_text(MODULE)
    (package / "__init__.py").write_text("from whole.part import Part")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = --doctest-modules --import-mode=importlib\npythonpath = src\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "imported_once", "src/whole/part.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(RUNS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
