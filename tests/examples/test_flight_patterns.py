"""The patterns on flights, on made-up ones and against a plain search in the recorded ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from events import HOUR, MINUTE, Flight
from late_again import late_again
from not_back import not_back
from week import BEGIN, END, read_week

from millrace.testing import match, trace

ROOT = Path(__file__).parents[2]
DAY = 24 * HOUR


def flight(after: int, delay: int = 0, dest: str = "DCA", tailnum: str = "N1") -> Flight:
    return Flight(BEGIN + after, delay, "US", "1", tailnum, "LGA", dest)


def by_aircraft(flights: list[Flight]) -> Iterator[list[Flight]]:
    """The flights of each, in the order in which they left."""
    flown: dict[str, list[Flight]] = {}
    for one in sorted(flights, key=lambda one: one.happened):
        flown.setdefault(one.tailnum, []).append(one)
    return iter(flown.values())


def departed(one: Flight) -> int:
    return one.happened


def tail(one: Flight) -> str:
    return one.tailnum


@pytest.fixture(scope="module")
def week() -> list[Flight]:
    return read_week()


def test_three_late_legs_in_a_row() -> None:
    legs = [flight(n * HOUR, 31) for n in range(4)]
    assert match(late_again(), legs, timestamps=departed).matches == [{"late": legs[:3]}]


def test_a_punctual_leg_between_them() -> None:
    legs = [flight(n * HOUR, delay) for n, delay in enumerate((31, 31, 30, 31))]
    told = trace(late_again(), legs, timestamps=departed)
    assert told.matches == []
    assert "late #0 #1 -> late[3]: closed, nothing may lie between; value.delay > 30 is false" in (
        str(told)
    )


def test_the_third_leg_a_day_later() -> None:
    legs = [flight(0, 31), flight(HOUR, 31), flight(DAY, 31)]
    assert match(late_again(), legs, timestamps=departed).matches == []
    legs[2] = flight(DAY - MINUTE, 31)
    assert match(late_again(), legs, timestamps=departed).matches == [{"late": legs}]


def test_late_legs_of_the_recording(week: list[Flight]) -> None:
    expected = []
    for flown in by_aircraft(week):
        first = 0
        while first + 3 <= len(flown):
            legs = flown[first : first + 3]
            late = all(leg.delay > 30 for leg in legs)
            found = late and legs[2].happened - legs[0].happened < DAY
            expected += [legs] if found else []
            first += 3 if found else 1
    result = match(late_again(), week, timestamps=departed, key=tail)
    assert len(expected) > 20
    assert sorted(found["late"] for found in result.matches) == sorted(expected)


def test_an_aircraft_that_is_back_in_time() -> None:
    out, back = flight(0), flight(DAY - MINUTE, dest="BOS")
    assert match(not_back(), [out, back], timestamps=departed).matches == []
    back = flight(DAY, dest="BOS")
    assert match(not_back(), [out, back], timestamps=departed).matches == [{"out": [out]}]


def test_when_the_recording_ends_nobody_knows() -> None:
    last = flight(END - BEGIN)
    assert match(not_back(), [last], timestamps=departed).matches == []


def test_aircraft_of_the_recording_that_were_not_back(week: list[Flight]) -> None:
    expected = [
        out
        for flown in by_aircraft(week)
        for out, back in pairwise([*flown, None])
        if out is not None and out.dest == "DCA" and out.happened < END
        if back is None or back.happened - out.happened >= DAY
    ]
    result = match(not_back(), week, timestamps=departed, key=tail)
    assert len(expected) > 20
    assert sorted(out for found in result.matches for out in found["out"]) == sorted(expected)


@pytest.mark.turns(7)
@pytest.mark.spark
def test_the_job_on_spark_prints_what_the_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cep" / "not-back.md").read_text("utf-8")
    said = page.partition(' prints"\n')[2].partition("```")[0]
    done = subprocess.run(
        [
            sys.executable, "-m", "millrace.cli.main", "run", "--parallelism", "2",
            "examples/flights/not_back.py",
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = [line.partition("> ")[2] for line in done.stdout.splitlines()]
    assert sorted(printed) == sorted(said.splitlines())
