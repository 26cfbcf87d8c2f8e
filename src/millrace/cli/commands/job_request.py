"""Sends commands to a running job, for ``stop``, ``cancel``, ``rescale`` and others."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millrace.cli.arguments import UsageError
from millrace.common.errors import JobControlError

if TYPE_CHECKING:
    from millrace.cli.operated_job import OperatedJob


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--format``, the format of a savepoint."""
    parser.add_argument(
        "--format",
        choices=("canonical", "native"),
        default="canonical",
        help=(
            "canonical: Parquet and JSON, for other tools and later versions (default); native: "
            "the format of checkpoints, fast, for this job"
        ),
    )


def send_command(
    args: argparse.Namespace, command: str, **arguments: Any
) -> tuple[OperatedJob, dict[str, Any]]:
    """Send a command to the job that the arguments name; return the job and its answer.

    Raises:
        UsageError: the arguments name no job.
        JobControlError: there is no such job, it is not running, or the command failed.
    """
    from millrace.cli.operated_job import operated_job

    job = operated_job(args)
    return job, ask_job(job, args.timeout, command, **arguments)


def ask_job(job: OperatedJob, timeout: float, command: str, **arguments: Any) -> dict[str, Any]:
    """Send a command to a job and return its answer; raises the same errors as `send_command`."""
    reason = job.not_running()
    if reason is not None:
        raise JobControlError(f"job '{job.name}' is not running{reason}")
    try:
        return job.ask(command, arguments, timeout, say_waiting)
    except JobControlError as error:
        raise JobControlError(f"job '{job.name}': {error}{job.failure()}") from None


def say_waiting(reason: str) -> None:
    """Print on standard error what a job is waiting for, such as a long epoch."""
    from millrace.cli.printing import printable

    print(f"millrace: the job waits for {printable(reason)}", file=sys.stderr, flush=True)


def check_ended(job: OperatedJob, answer: dict[str, Any]) -> None:
    """Raise JobControlError if the job failed instead of ending as the command requested."""
    if answer.get("status") == "FAILED":
        failure = job.failure() or "; see its log"
        raise JobControlError(f"job '{job.name}' failed before its end{failure}")


def target(args: argparse.Namespace, directory: Path | None) -> str | None:
    """Absolute path of a directory, because the job has another working directory.

    Raises:
        UsageError: the path is relative, and the job is on a server's machine.
    """
    if directory is not None and args.server is not None and not directory.is_absolute():
        raise UsageError(f"{directory} must be absolute, because it is on the server's machine")
    return None if directory is None else str(directory.absolute())


def report(args: argparse.Namespace, job: OperatedJob, answer: dict[str, Any], text: str) -> int:
    """Print the result of a command: its ``text``, or with ``--json`` the job's answer."""
    from millrace.cli.printing import print_json, printable

    if args.json:
        print_json({"job": job.name, "id": job.id, **answer})
    else:
        print(printable(text, keep="\n"))
    return 0
