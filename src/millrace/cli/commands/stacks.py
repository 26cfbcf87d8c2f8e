"""``millrace stacks``: shows the Python stacks of a running job."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import report, send_command


def register(commands: Commands) -> None:
    """Add ``millrace stacks`` to the parser."""
    parser = add_command(
        commands,
        "stacks",
        handle,
        "show the Python stacks of a running job",
        "Show the code that a job's driver is executing, and the code of subtasks that have "
        "been running for more than two seconds.",
    )
    add_job(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Request the stacks from the job."""
    job, answer = send_command(args, "stacks")
    from millrace.cli.printing import printable

    text = printable("\n".join(_lines(answer)), keep="\n")
    return report(args, job, answer, f"{job.name} is {answer['status']}\n{text}")


def _lines(answer: dict[str, Any]) -> Iterator[str]:
    if answer["waits_for"]:
        yield answer["waits_for"]
    for subtask in answer["stacks"]:
        yield (
            f"\n'{subtask['operator']}' (subtask {subtask['subtask']}) in worker "
            f"{subtask['worker']}, after {subtask['seconds']:.0f} s:"
        )
        yield subtask["stack"].rstrip()
    if not answer["stacks"]:
        yield "\nno subtask has been running for more than two seconds"
    if answer["driver"]:
        yield "\nthe driver:"
        yield answer["driver"].rstrip()
