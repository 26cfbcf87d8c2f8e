"""``millrace checkpoint``: make a checkpoint of a running job now."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import report, send_command


def register(commands: Commands) -> None:
    """Add ``millrace checkpoint`` to the parser."""
    parser = add_command(
        commands,
        "checkpoint",
        handle,
        "make a checkpoint of a running job now",
        "Make a checkpoint of a running job with its next epoch, independent of the interval.",
    )
    add_job(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Send the job the command, and print the checkpoint's number."""
    job, answer = send_command(args, "checkpoint")
    text = f"checkpoint {answer['checkpoint']} of job '{job.name}' is complete"
    return report(args, job, answer, text)
