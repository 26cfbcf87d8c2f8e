"""``millrace list``: the jobs that there are."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from millrace.cli.commands.grammar import Commands, add_checkpoint_dir, add_command, checkpoint_dir


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "list", handle, "show the jobs, running or not")
    add_checkpoint_dir(parser)


def handle(named: argparse.Namespace, argv: Sequence[str]) -> int:
    """Show all jobs of the checkpoint directory."""
    from millrace.cli.jobs import Job, jobs_in
    from millrace.cli.printing import print_json, print_table, time_text

    def as_json(job: Job) -> dict[str, Any]:
        newest = job.newest
        return {
            "name": job.name,
            "id": job.id,
            "state": job.state,
            "directory": str(job.directory),
            "checkpoint": newest.checkpoint if newest else None,
            "checkpoint_time": newest.timestamp if newest else None,
            "host": job.run.host if job.run else None,
            "pid": job.run.pid if job.run else None,
        }

    def row(job: Job) -> tuple[str, ...]:
        newest = job.newest
        checkpoint = (f"chk-{newest.checkpoint}", time_text(newest.timestamp)) if newest else "--"
        return (job.state, job.name, job.id, *checkpoint)

    directory = checkpoint_dir(named)
    jobs = list(jobs_in(directory))
    if named.json:
        print_json([as_json(job) for job in jobs])
    elif jobs:
        print_table(("STATE", "NAME", "ID", "CHECKPOINT", "OF"), [row(job) for job in jobs])
    else:
        print(f"no job has kept checkpoints in {directory}")
    return 0
