"""What is drawn in CI does not depend on the modules that a process has loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUNS = Path(__file__).parent
CONSTANT = 8_246_193_577
DRAWS = """
import sys
import same_draws
from hypothesis import given, settings, strategies as st

if "more" in sys.argv:
    import module_with_a_constant

drawn = []

@settings(max_examples=300, database=None)
@given(st.integers())
def draw(number):
    drawn.append(number)

draw()
print(drawn)
"""


def drawn(directory: Path, *arguments: str, **environment: str) -> str:
    inherited = {key: value for key, value in os.environ.items() if key != "CI"}
    done = subprocess.run(
        [sys.executable, "draws.py", *arguments],
        cwd=directory,
        env={**inherited, "PYTHONPATH": str(RUNS), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_another_loaded_module_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "draws.py").write_text(DRAWS)
    constants = ", ".join(str(CONSTANT + number) for number in range(200))
    (tmp_path / "module_with_a_constant.py").write_text(f"VALUES = [{constants}]\n")
    before = drawn(tmp_path, CI="true")
    assert before == drawn(tmp_path, "more", CI="true")
    assert before.count(",") >= 200
