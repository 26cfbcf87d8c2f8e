"""Who has not installed sqlglot is told how to."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = "import sys; sys.modules['sqlglot'] = None; import millrace.sql.parser"


def test_sqlglot_is_named_where_it_is_missing() -> None:
    """One sentence with the command."""
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert "ImportError: SQL needs the package sqlglot: pip install 'millrace[sql]'" in run.stderr
