"""What ``millrace top`` shows of jobs."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from millrace.cli.commands.top import screen
from millrace.cli.job_overview import JobOverview, StageRow

rich_console = pytest.importorskip("rich.console")

JOB = JobOverview(
    name="clicks",
    id="clicks-00000000",
    status="RUNNING",
    since=1,
    epoch=7,
    epoch_ms=40.0,
    records=900,
    records_per_second=200.0,
    watermark=None,
    restarts=0,
    checkpoint=6,
    checkpoint_ms=12.0,
    state_bytes=2048,
    stages=(StageRow("Map -> Sink", 2, 900, 0, 200.0, 0.0, 0.25, None),),
)


def shown(*jobs: JobOverview) -> list[str]:
    out = io.StringIO()
    rich_console.Console(file=out, width=120).print(screen(jobs))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_job_and_its_stages() -> None:
    head, *table = shown(JOB)
    assert head.startswith("clicks  running  200 records/s  epoch 7 in 40 ms  checkpoint 6")
    assert any(line.lstrip().startswith("STAGE ") for line in table), "two operators, one stage"
    assert any("Map -> Sink" in line and "25 %" in line for line in table)


def test_what_a_job_that_does_not_get_on_is_at() -> None:
    waits_for = "epoch 8 running for 57 s in 'Map' (subtask 0)"
    assert shown(replace(JOB, waits_for=waits_for))[1] == waits_for
    assert waits_for not in shown(JOB)


def test_that_there_is_none() -> None:
    assert shown() == ["no job is running"]
