"""``millrace status``: how far a running job is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import ask_job, report


def register(commands: Commands) -> None:
    """Add the command."""
    add_job(add_command(commands, "status", handle, "show how far a running job is"))


def handle(named: argparse.Namespace, argv: Sequence[str]) -> int:
    """Ask the job."""
    job, answer = ask_job(named, "status")
    from millrace.cli.progress_line import describe
    from millrace.engine.job_details import JobDetails

    known = ("epoch", "checkpoint", "records", "watermark")
    progress = JobDetails(**{name: answer[name] for name in known})
    line = describe(progress, answer["records_per_second"])
    text = f"{job.name} is {answer['status']}: {line}"
    if answer["waits_for"]:
        text += f"\n{answer['waits_for']}"
    return report(named, job, answer, text)
