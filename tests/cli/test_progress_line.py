"""How far a job is, in one line."""

from __future__ import annotations

import io

import pytest

from millrace.cli.progress_line import ProgressLine, describe, time_text
from millrace.cli.terminal import Terminal
from millrace.engine.job_details import JobDetails


class ManualSeconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_not_known_is_left_out() -> None:
    assert (
        describe(JobDetails(records=5, epoch=1, records_per_second=2.5))
        == "5 records  2/s  epoch 1"
    )


def test_event_time_is_shown_as_a_date_if_it_is_one() -> None:
    assert time_text(1_357_034_400_000) == "2013-01-01 10:00:00"
    assert time_text(-(2**62)) == str(-(2**62))


def test_without_a_terminal_a_line_comes_every_few_seconds() -> None:
    clock, stream = ManualSeconds(), io.StringIO()
    line = ProgressLine(Terminal(stream), clock)
    for second in range(1, 13):
        clock.now = 100.0 + second
        line(JobDetails(records=second * 100, epoch=second, records_per_second=100))
    assert stream.getvalue().splitlines() == [
        "millrace: 500 records  100/s  epoch 5",
        "millrace: 1,000 records  100/s  epoch 10",
    ]


def test_on_a_terminal_the_line_follows_at_once() -> None:
    clock, screen = ManualSeconds(), Screen()
    line = ProgressLine(Terminal(screen), clock)
    clock.now += 0.5
    line(JobDetails(records=50, epoch=1, records_per_second=100))
    assert screen.getvalue().endswith("50 records  100/s  epoch 1")


def test_a_narrow_terminal_gets_a_shorter_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    clock, screen = ManualSeconds(), Screen()
    line = ProgressLine(Terminal(screen), clock)
    clock.now += 0.5
    line(JobDetails(records=50_000, epoch=1, records_per_second=100_000, checkpoint=12))
    assert screen.getvalue().endswith("50,000 records  100,000/s  epoch 1  chk-12"[:39])
    monkeypatch.setenv("COLUMNS", "60")
    clock.now += 0.5
    line(JobDetails(records=50_000, epoch=1, records_per_second=100_000, checkpoint=12))
    assert screen.getvalue().endswith("epoch 1  checkpoint 12")
