"""``millrace cancel``: end a job immediately."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import check_ended, report, send_command


def register(commands: Commands) -> None:
    """Add ``millrace cancel`` to the parser."""
    parser = add_command(
        commands,
        "cancel",
        handle,
        "end a running job immediately",
        "End a running job immediately; its last checkpoint stays ('millrace run --resume').",
    )
    add_job(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Cancel the job."""
    job, answer = send_command(args, "cancel")
    check_ended(job, answer)
    return report(args, job, answer, f"job '{job.name}' was cancelled")
