"""Sends commands to a running job, for ``stop``, ``cancel``, ``rescale`` and others."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millrace.cli.commands.grammar import checkpoint_dir, job_name
from millrace.common.errors import JobControlError

if TYPE_CHECKING:
    from millrace.cli.jobs import Job


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--format``, the format of a savepoint."""
    parser.add_argument(
        "--format",
        choices=("canonical", "native"),
        default="canonical",
        help="canonical: Parquet and JSON, for everybody and later versions (default); native: as "
        "checkpoints are, quick, for this job",
    )


def send_command(
    args: argparse.Namespace, command: str, **arguments: Any
) -> tuple[Any, dict[str, Any]]:
    """Send a command to the job that the arguments name; return the job and its answer.

    Raises:
        UsageError: the arguments name no job.
        JobControlError: there is no such job, it is not running, or the command failed.
    """
    from millrace.cli.jobs import read_job
    from millrace.engine.control_client import ask

    job = named_job(args)
    if job.run is None:
        raise JobControlError(f"job '{job.name}' is not running{_failure(job)}{_resume_hint(job)}")
    try:
        return job, ask(job.directory, command, arguments, args.timeout, _say_waiting)
    except JobControlError as error:
        failure = _failure(read_job(job.directory))
        raise JobControlError(f"job '{job.name}': {error}{failure}") from None


def named_job(args: argparse.Namespace) -> Job:
    """Return the job that the arguments name.

    Raises:
        UsageError: the arguments name no job.
        JobControlError: there is no such job, or no permission to see whether it is running.
    """
    name = job_name(args)
    from millrace.cli.jobs import find_job

    job = find_job(checkpoint_dir(args), name)
    if job.unknown_reason:
        raise JobControlError(f"job '{job.name}': {job.unknown_reason}")
    return job


def _say_waiting(reason: str) -> None:
    from millrace.cli.printing import printable

    print(f"millrace: the job waits for {printable(reason)}", file=sys.stderr, flush=True)


def check_ended(job: Any, answer: dict[str, Any]) -> None:
    """Raise JobControlError if the job failed instead of ending as the command requested."""
    if answer.get("status") == "FAILED":
        from millrace.cli.jobs import read_job

        failure = _failure(read_job(job.directory)) or "; see its log"
        raise JobControlError(f"job '{job.name}' failed before it had come to its end{failure}")


def _failure(job: Job) -> str:
    """How the last run failed: with the last line of its error, which has the user's exception.
    Empty: it did not."""
    if job.record is None or not job.record.error:
        return ""
    where = f" in operator '{job.record.operator}'" if job.record.operator else ""
    return f": it failed{where}: {job.record.error.strip().splitlines()[-1]}"


def _resume_hint(job: Any) -> str:
    if job.newest is None:
        return ""
    checkpoint = job.directory / f"chk-{job.newest.checkpoint}"
    return f"; to go on from its newest checkpoint: millrace run -s {checkpoint} job.py"


def target(directory: Path | None) -> str | None:
    """Return the absolute path, since the job has another working directory."""
    return None if directory is None else str(directory.absolute())


def report(args: argparse.Namespace, job: Any, answer: dict[str, Any], text: str) -> int:
    """Print the result of a command: its ``text``, or with ``--json`` the job's answer."""
    from millrace.cli.printing import print_json, printable

    if args.json:
        print_json({"job": job.name, "id": job.id, **answer})
    else:
        print(printable(text, keep="\n"))
    return 0
