"""Queries of damaged savepoints end in words: no stack of Java or Python reaches the terminal."""

from __future__ import annotations

import json
import logging
import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults" / "jobs"))

from fuzz_savepoint import Case

from millrace.cli.main import main

pytestmark = pytest.mark.spark

CASES = 25


def test_queries_of_damaged_savepoints(
    spark: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    logging.disable(logging.ERROR)  # as the command does where it starts Spark itself
    request.addfinalizer(lambda: logging.disable(logging.NOTSET))
    chance = random.Random(20261122)
    failed = 0
    for number in range(CASES):
        case = Case(tmp_path / "tampered", chance)
        what = f"case {number}: {case.make()}"
        for query in ("SHOW TABLES", *queries(case.directory, chance)):
            code = main(["savepoint", "sql", "--json", str(case.directory), query])
            said = capsys.readouterr()
            assert code in (0, 1), f"{what}, {query}"
            assert "\tat " not in said.out + said.err, f"{what}, {query}: {said.err}"
            assert "Traceback" not in said.out + said.err, f"{what}, {query}: {said.err}"
            assert len(said.err) < 5_000, f"{what}, {query}: {said.err}"
            assert bool(code) == said.err.startswith("millrace: "), f"{what}, {query}: {said.err}"
            failed += code
    assert failed > 3


def queries(directory: Path, chance: random.Random) -> list[str]:
    """Queries of one view, if there are any."""
    try:
        manifest = json.loads((directory / "_metadata").read_bytes())
        state = chance.choice(manifest["states"])
        return [f"SELECT * FROM `{state['uid']}_{state['name']}`"]
    except (ValueError, LookupError, TypeError):
        return []
