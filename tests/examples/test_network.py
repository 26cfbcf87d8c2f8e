"""What the SQL of the mobile network gives, against loops over all measurements."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import chdir
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import application_pictures as pictures
import board
import cells
import pytest
from application import EXAMPLES

from millrace.cli.main import main as millrace
from millrace.testing import run_local

STEP, SIZE, DELAY = (timedelta(minutes=minutes) for minutes in (5, 15, 5))
BAD = 0.05
Place = tuple[str, str, str]
"""End of a window, region and cell."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the job has written."""
    directory: Path = tmp_path_factory.mktemp("network")
    cells.write(directory / "measurements.jsonl")
    with chdir(directory), run_local():
        assert millrace(["sql", "-f", str(EXAMPLES / "network/network.sql")]) == 0
    return directory / "results"


def rows(results: Path, name: str) -> list[dict[str, Any]]:
    parts = sorted((results / name).glob("part-*"))
    return [json.loads(line) for part in parts for line in part.read_text("utf-8").splitlines()]


def late(results: Path) -> set[tuple[str, str]]:
    """Time and cell of the measurements that were late."""
    return {(row["ts"], row["cell"]) for row in rows(results, "late")}


def in_time(results: Path) -> list[cells.Measurement]:
    missed = late(results)
    every = [row for minute in cells.arriving() for row in minute]
    return [row for row in every if (row["ts"], row["cell"]) not in missed]


def expected_board(results: Path) -> dict[Place, tuple[int, float]]:
    sums: dict[tuple[datetime, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in in_time(results):
        time = datetime.fromisoformat(row["ts"])
        first = datetime.min + (time - datetime.min) // STEP * STEP + STEP
        for end in (first, first + STEP, first + 2 * STEP):
            levels = (row["region"], row["cell"]), (row["region"], "all"), ("all", "all")
            for region, cell in levels:
                total = sums[end, region, cell]
                total[0] += row["calls"]
                total[1] += row["dropped"]
    return {
        (str(end), region, cell): (calls, dropped / calls)
        for (end, region, cell), (calls, dropped) in sums.items()
    }


def test_the_late_are_those_that_were_cut_off(results: Path) -> None:
    cut = {
        (str(cells.BEGIN + timedelta(minutes=minute)), cell)
        for minute in cells.CUT
        for cell in cells.CUT_OFF
    }
    assert late(results) == cut


def test_the_board_is_a_sum_over_all_that_came_in_time(results: Path) -> None:
    found = {
        (row["end"], row["region"], row["cell"]): (row["calls"], row["drop_rate"])
        for row in rows(results, "board")
    }
    expected = expected_board(results)
    assert found.keys() == expected.keys()
    for place, (calls, rate) in expected.items():
        assert found[place] == (calls, pytest.approx(rate, abs=0.0005 + 1e-9))
    assert len(found) == len(rows(results, "board"))


def test_the_worst_cells_are_those_of_each_window(results: Path) -> None:
    windows: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for (end, _, cell), (_, rate) in expected_board(results).items():
        if cell != "all":
            windows[end].append((-rate, cell))
    found: dict[str, list[str]] = defaultdict(list)
    for row in sorted(rows(results, "worst"), key=lambda row: row["place"]):
        found[row["end"]].append(row["cell"])
    assert found == {end: [cell for _, cell in sorted(every)[:3]] for end, every in windows.items()}


def test_alarms_are_three_bad_windows_or_more(results: Path) -> None:
    places: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for (end, region, cell), (_, rate) in sorted(expected_board(results).items()):
        places[region, cell].append((end, rate))
    expected = set()
    for (region, cell), moments in places.items():
        for bad, run in groupby(moments, key=lambda moment: moment[1] > BAD):
            ends = [end for end, _ in run]
            # an alarm is over with a good window
            if bad and len(ends) >= 3 and ends[-1] != moments[-1][0]:
                since = datetime.fromisoformat(ends[0]) - SIZE
                expected.add((region, cell, str(since), ends[-1]))
    alarms = rows(results, "alarms")
    assert {(a["region"], a["cell"], a["since"], a["until"]) for a in alarms} == expected
    named = {(region, cell) for region, cell, _, _ in expected}
    assert ("east", cells.FAILING) in named
    assert (cells.CONGESTED, "all") in named
    assert ("all", "all") not in named


def test_the_board_has_a_line_for_each_region(results: Path) -> None:
    lines = board.board(board.read(results / "board")).splitlines()
    assert [line.split()[0] for line in lines] == ["all", *cells.REGIONS]


def test_the_picture_is_of_these_results(results: Path) -> None:
    """After a change run scripts/application_pictures.py."""
    picture = (pictures.PICTURES / "network.svg").read_text("utf-8")
    assert pictures.network(results) == picture
