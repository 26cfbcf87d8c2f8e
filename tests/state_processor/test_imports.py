"""Importing the package starts nothing and needs neither Spark nor Arrow."""

from __future__ import annotations

import subprocess
import sys


def test_nothing_heavy_is_imported() -> None:
    """Not before it is used."""
    program = (
        "import sys, millrace.state_processor\n"
        "print([m for m in ('pyspark', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
