"""``millrace list``: shows all jobs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.cli.commands.grammar import (
    Commands,
    add_checkpoint_dir,
    add_command,
    add_server,
    checkpoint_dir,
    server_client,
)

if TYPE_CHECKING:
    from millrace.cli.jobs import Job


def register(commands: Commands) -> None:
    """Add ``millrace list`` to the parser."""
    parser = add_command(commands, "list", handle, "show the jobs, running or not")
    add_checkpoint_dir(parser)
    add_server(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Show all jobs of the checkpoint directory, or of a server."""
    return _show_directory(args) if args.server is None else _show_server(args)


def _show_directory(args: argparse.Namespace) -> int:
    from millrace.cli.jobs import jobs_in
    from millrace.cli.printing import print_json, print_table

    directory = checkpoint_dir(args)
    jobs = list(jobs_in(directory))
    if args.json:
        print_json(list(map(_as_json, jobs)))
    elif jobs:
        heads = ("STATE", "NAME", "ID", "EXECUTOR", "CHECKPOINT", "OF", "ERROR")
        print_table(heads, list(map(_row, jobs)))
    else:
        print(f"no job has checkpoints in {directory}")
    return 0


def _show_server(args: argparse.Namespace) -> int:
    from millrace.cli.printing import last_line, print_json, print_table, shortened
    from millrace.cli.served_job import served_jobs
    from millrace.common.time.local_time import time_text

    client = server_client(args)
    jobs = served_jobs(client)
    if args.json:
        print_json([job.summary for job in jobs])
    elif jobs:
        rows = [
            (
                job.status.name.lower(),
                shortened(job.name),
                job.id,
                job.summary.get("executor") or "-",
                time_text(job.summary["start-time"]),
                last_line(job.summary.get("error", "")),
            )
            for job in jobs
        ]
        print_table(("STATE", "NAME", "ID", "EXECUTOR", "BEGAN", "ERROR"), rows)
    else:
        print(f"the server at {client.address.url} has no jobs")
    return 0


def _row(job: Job) -> tuple[str, ...]:
    from millrace.cli.printing import last_line, shortened
    from millrace.common.time.local_time import time_text

    newest = job.checkpoint
    checkpoint = (f"chk-{newest.number}", time_text(newest.time)) if newest else ("-", "-")
    executor = job.executor or "-"
    return (job.state, shortened(job.name), job.id, executor, *checkpoint, last_line(job.error))


def _as_json(job: Job) -> dict[str, Any]:
    newest, run = job.checkpoint, job.run
    return {
        "name": job.name,
        "id": job.id,
        "state": job.state,
        "executor": job.executor or None,
        "error": job.error or None,
        "ended": job.record.ended if job.record and not run else None,
        "directory": str(job.directory),
        "checkpoint": newest.number if newest else None,
        "checkpoint_time": newest.time if newest else None,
        "checkpoint_path": newest.path if newest else None,
        "host": run.host if run else None,
        "pid": run.pid if run else None,
    }
