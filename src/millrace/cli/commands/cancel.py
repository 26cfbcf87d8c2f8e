"""``millrace cancel``: end a job at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import ask_job, check_ended, report


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "cancel",
        handle,
        "end a running job at once",
        "End a running job at once; its last checkpoint stays ('millrace run --resume').",
    )
    add_job(parser)


def handle(named: argparse.Namespace, argv: Sequence[str]) -> int:
    """Cancel the job."""
    job, answer = ask_job(named, "cancel")
    check_ended(job, answer)
    return report(named, job, answer, f"job '{job.name}' was cancelled")
