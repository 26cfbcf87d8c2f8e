"""``millrace info``: shows all details of a job."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from millrace.cli.commands.grammar import Commands, add_command, add_job

if TYPE_CHECKING:
    from millrace.cli.job_overview import JobOverview


def register(commands: Commands) -> None:
    """Add ``millrace info`` to the parser."""
    parser = add_command(
        commands,
        "info",
        handle,
        "show all details of a job: stages, checkpoints, errors",
        "Show the state of a job and of each of its stages, at most a second old.",
    )
    add_job(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Show the job's report about itself."""
    from millrace.cli.operated_job import operated_job
    from millrace.cli.printing import print_json, print_lines

    overview = operated_job(args).overview()
    if args.json:
        print_json(asdict(overview))
    else:
        print_lines(_lines(overview))
    return 0


def _lines(job: JobOverview) -> Iterator[str]:
    from millrace.cli.printing import aligned, last_line, size_text
    from millrace.cli.stage_table import stage_cells
    from millrace.common.time.local_time import time_text

    since = f" since {time_text(job.since)}" if job.since else ""
    yield f"{job.name} is {job.state or job.status}{since}"
    yield f"id           {job.id}"
    if job.began is not None and job.began != job.since:
        yield f"began        {time_text(job.began)}"
    if job.executor:
        yield f"executor     {job.executor}"
    yield f"records      {job.records:,}, {job.records_per_second:,.0f}/s"
    yield f"epoch        {job.epoch}, {job.epoch_ms:.0f} ms"
    if job.checkpoint is not None:
        size = f", {size_text(job.state_bytes)} of state" if job.state_bytes is not None else ""
        took = f", {job.checkpoint_ms:.0f} ms" if job.checkpoint_ms is not None else ""
        yield f"checkpoint   {job.checkpoint}{took}{size}"
    kept = f", in {job.checkpoints_in}" if job.checkpoints_in else ""
    yield f"checkpoints  {job.checkpoints:,} completed, {job.failed_checkpoints:,} failed{kept}"
    yield f"restarts     {job.restarts:,}"
    if job.waits_for:
        yield f"waits for    {job.waits_for}"
    if job.error:
        yield f"error        {last_line(job.error)}"
    if job.stages:
        yield ""
        yield from aligned(stage_cells(job.stages))
    elif not job.epoch and not job.error:
        yield "stages       none yet: the program has not started the job; its log has the reason"
