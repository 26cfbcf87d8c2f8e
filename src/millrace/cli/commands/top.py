"""``millrace top``: a live table of jobs and their stages."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from millrace.cli.commands.grammar import (
    Commands,
    add_checkpoint_dir,
    add_command,
    add_server,
    checkpoint_dir,
    server_client,
)
from millrace.common.errors import JobControlError, MillraceError
from millrace.common.installation import install_command

if TYPE_CHECKING:
    from millrace.cli.job_overview import JobOverview
    from millrace.cli.server_client import ServerClient

NUMBERS = ("P", "IN/S", "OUT/S", "IN", "OUT", "BUSY", "LAG")
BUSY = 0.8
"""From this share on a stage stands out."""


def register(commands: Commands) -> None:
    """Add ``millrace top`` to the parser."""
    parser = add_command(
        commands,
        "top",
        handle,
        "watch the running jobs and their stages",
        "Watch the running jobs and their stages, until Ctrl-C. With --json, or if standard "
        "output is no terminal, show the present state once.",
    )
    parser.add_argument("name", metavar="JOB", nargs="?", help="only this job")
    parser.add_argument(
        "--interval", metavar="S", type=_seconds, default=1.0, help="seconds (default: 1)"
    )
    add_checkpoint_dir(parser)
    add_server(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Show the jobs, and refresh the table until interrupted."""
    from dataclasses import asdict

    from millrace.cli.printing import print_json

    client = server_client(args) if args.server is not None else None
    if args.json:
        print_json([asdict(job) for job in running_jobs(args, client)])
        return 0
    try:
        from rich.console import Console
        from rich.live import Live
    except ModuleNotFoundError:
        raise MillraceError(f"top needs rich: {install_command('server')}") from None
    console = Console()
    if not sys.stdout.isatty():
        console.print(screen(running_jobs(args, client)))
        return 0
    try:
        with Live(screen(running_jobs(args, client)), console=console, screen=True) as live:
            while True:
                time.sleep(args.interval)
                live.update(screen(running_jobs(args, client)))
    except KeyboardInterrupt:
        return 0


def running_jobs(args: argparse.Namespace, client: ServerClient | None) -> list[JobOverview]:
    """Overviews of the running jobs of a directory or a server.

    Raises:
        JobControlError: the one that is named does not run.
    """
    from millrace.cli.jobs import jobs_in
    from millrace.cli.operated_job import DirectoryJob, OperatedJob
    from millrace.cli.served_job import served_jobs

    jobs: Iterable[OperatedJob]
    if client is not None:
        jobs = [job for job in served_jobs(client) if job.is_running]
    else:
        in_directory = jobs_in(checkpoint_dir(args))
        jobs = [DirectoryJob(job) for job in in_directory if job.run is not None]
    wanted = [job for job in jobs if args.name in (None, job.name, job.id)]
    if args.name is not None and not wanted:
        raise JobControlError(f"there is no running job {args.name!r}; see 'millrace list'")
    overviews = []
    for job in wanted:
        try:
            overviews.append(job.overview())
        except JobControlError:
            if client is not None:
                raise
            # it has hardly begun, and tells nothing yet
    return overviews


def screen(jobs: Sequence[JobOverview]) -> Any:
    """The table of jobs, for a console of rich."""
    from rich.console import Group
    from rich.text import Text

    if not jobs:
        return Text("no job is running")
    parts: list[Any] = []
    for job in jobs:
        waits = [Text(job.waits_for, style="yellow")] if job.waits_for else []
        parts += [_headline(job), *waits, _table(job), Text("")]
    return Group(*parts[:-1])


def _headline(job: JobOverview) -> Any:
    from rich.text import Text

    from millrace.cli.printing import size_text

    words = [
        f"{job.status.lower()}",
        f"{job.records_per_second:,.0f} records/s",
        f"epoch {job.epoch} in {job.epoch_ms:.0f} ms",
    ]
    if job.checkpoint is not None:
        words.append(f"checkpoint {job.checkpoint}")
    if job.state_bytes is not None:
        words.append(f"{size_text(job.state_bytes)} of state")
    if job.restarts:
        words.append(f"restarts {job.restarts}")
    return Text.assemble((job.name, "bold"), "  ", "  ".join(words))


def _table(job: JobOverview) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from millrace.cli.stage_table import HEADS, stage_row

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in HEADS:
        table.add_column(head, justify="right" if head in NUMBERS else "left", no_wrap=True)
    for row in job.stages:
        style = "bold yellow" if row.busy is not None and row.busy >= BUSY else ""
        # names of somebody else's making: no markup in them
        table.add_row(*(Text(cell) for cell in stage_row(row)), style=style)
    return table


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.1 <= seconds <= 3600:
        raise ValueError
    return seconds
