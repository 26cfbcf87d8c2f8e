"""The committed results of the programs of tables: Flink's, and millrace's where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from conformance.expected_output import EXPECTED
from conformance.relational import RelationalProgram, load

DIRECTORY = EXPECTED / "sql"


def read(program: RelationalProgram, side: str = "pyflink") -> list[Any] | None:
    """The committed results of a program on that side; None without any."""
    return _page(_path(program.page, side)).get(program.name)


def wanted(program: RelationalProgram) -> list[Any] | None:
    """What millrace must give: Flink's results, or its own where it differs for a reason."""
    return read(program, "millrace" if program.difference else "pyflink")


def write(
    programs: Iterable[RelationalProgram],
    side: str,
    results: Mapping[str, tuple[list[Any] | None, str]],
) -> None:
    """Replace the committed results of these programs, and drop those of programs that are gone."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for page, found in groupby(programs, lambda program: program.page):
        given = {program.name: results[program.path][0] for program in found}
        known = _page(_path(page, side)) | given
        names = [each.name for each in load(page) if side == "pyflink" or each.difference]
        texts = [f"{json.dumps(n)}: {json.dumps(known[n])}" for n in names if n in known]
        _path(page, side).write_text("{\n" + ",\n".join(texts) + "\n}\n")


@cache
def _page(path: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _path(page: str, side: str) -> Path:
    return DIRECTORY / (f"{page}.json" if side == "pyflink" else f"{page}.{side}.json")
