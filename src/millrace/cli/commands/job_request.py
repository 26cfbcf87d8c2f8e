"""What the commands that operate a running job have in common."""

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
    """Let a command be told in which format a savepoint is to be."""
    parser.add_argument(
        "--format",
        choices=("canonical", "native"),
        default="canonical",
        help="canonical: Parquet and JSON, for everybody and later versions (default); native: as "
        "checkpoints are, quick, for this job",
    )


def ask_job(
    named: argparse.Namespace, command: str, **arguments: Any
) -> tuple[Any, dict[str, Any]]:
    """Have the job that is named do something; returns it and its answer.

    Raises:
        UsageError: no job is named.
        JobControlError: there is none of that name, it does not run, or it cannot do it.
    """
    from millrace.engine.control_client import ask

    job = named_job(named)
    if job.run is None:
        raise JobControlError(f"job '{job.name}' is not running{_way_on(job)}")
    try:
        return job, ask(job.directory, command, arguments, named.timeout, _say_waiting)
    except JobControlError as error:
        raise JobControlError(f"job '{job.name}': {error}") from None


def named_job(named: argparse.Namespace) -> Job:
    """The job that is named.

    Raises:
        UsageError: none is named.
        JobControlError: there is none of that name, or one may not know whether it runs.
    """
    word = job_name(named)
    from millrace.cli.jobs import find_job

    job = find_job(checkpoint_dir(named), word)
    if job.hidden:
        raise JobControlError(f"job '{job.name}': {job.hidden}")
    return job


def _say_waiting(reason: str) -> None:
    from millrace.cli.printing import printable

    print(f"millrace: the job waits for {printable(reason)}", file=sys.stderr, flush=True)


def check_ended(job: Any, answer: dict[str, Any]) -> None:
    """Raises JobControlError when the job did not end as it was told to, but failed."""
    if answer.get("status") == "FAILED":
        raise JobControlError(f"job '{job.name}' failed before it had come to its end; see its log")


def _way_on(job: Any) -> str:
    if job.newest is None:
        return ""
    checkpoint = job.directory / f"chk-{job.newest.checkpoint}"
    return f"; to go on from its newest checkpoint: millrace run -s {checkpoint} job.py"


def target(directory: Path | None) -> str | None:
    """A directory as the job, which is in another one, finds it."""
    return None if directory is None else str(directory.absolute())


def report(named: argparse.Namespace, job: Any, answer: dict[str, Any], text: str) -> int:
    """Say what the job has done."""
    from millrace.cli.printing import print_json

    if named.json:
        print_json({"job": job.name, "id": job.id, **answer})
    else:
        print(text)
    return 0
