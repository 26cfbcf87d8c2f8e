"""mypy finds the types of streams, and the errors in programs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "typing_programs"


def check(program: str) -> dict[int, str]:
    """The lines with errors, and what is said of the first one in each."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-pretty", str(PROGRAMS / program)],
        # the settings, and what `make lint` has left in the cache, are there
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[int, str] = {}
    for line in done.stdout.splitlines():
        match = re.match(r"(?P<file>.+?):(?P<line>\d+): error: (?P<message>.*)", line)
        # errors elsewhere are for `make lint` to tell
        if match and Path(match["file"]).name == program:
            found.setdefault(int(match["line"]), match["message"])
    return found


def test_right_programs_have_the_types_they_say() -> None:
    assert check("right.py") == {}


def test_wrong_programs_are_refused() -> None:
    lines = (PROGRAMS / "wrong.py").read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if "# wrong" in line}
    found = check("wrong.py")
    assert set(found) == wrong, found
    assert len(wrong) > 15
    assert (
        'Argument 1 to "map" of "DataStream"'
        in found[lines.index("numbers.map(len)  # wrong: an int has no length") + 1]
    )
