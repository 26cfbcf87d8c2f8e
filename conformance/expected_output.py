"""The outputs that are committed: PyFlink's, so that a machine without it can check millrace.

A program whose output differs for a reason is named in docs/deviations.md; what millrace gives is
then kept next to what PyFlink gives.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from conformance.program import HOME, PROGRAMS

EXPECTED = HOME / "expected"
DEVIATIONS = HOME.parent / "docs" / "deviations.md"


def listed() -> set[str]:
    """The programs that docs/deviations.md names."""
    named = re.compile(rf"{HOME.name}/{PROGRAMS.name}/(\w+)\.py")
    return set(named.findall(DEVIATIONS.read_text()))


def read(name: str, side: str = "pyflink") -> list[str] | None:
    """The committed output of a program on that side, a line per record; None without one."""
    path = _path(name, side)
    return (
        [json.dumps(record) for record in json.loads(path.read_text())] if path.exists() else None
    )


def write(name: str, side: str, outputs: list[str] | None) -> None:
    """Replace the committed output; with None remove it."""
    path = _path(name, side)
    if outputs is None:
        path.unlink(missing_ok=True)
        return
    EXPECTED.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(outputs) + "\n]\n")


def wanted(name: str) -> list[str] | None:
    """What millrace must give: PyFlink's output, or for a listed program its own."""
    return read(name, "millrace") if name in listed() else read(name)


def _path(name: str, side: str) -> Path:
    return EXPECTED / (f"{name}.json" if side == "pyflink" else f"{name}.{side}.json")
