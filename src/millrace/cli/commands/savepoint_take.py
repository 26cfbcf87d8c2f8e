"""``millrace savepoint JOB``: take a savepoint of a running job."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.arguments import UsageError, location
from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import add_format, report, send_command, target

NAME = "take"


def register(commands: Commands) -> None:
    """Add ``millrace savepoint JOB`` to the parser."""
    parser = add_command(
        commands,
        NAME,
        handle,
        "take a savepoint of a running job (this word may be left out)",
        "Take a savepoint of a running job, which continues.",
    )
    add_job(parser)
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=location,
        help="directory for the savepoint (default: the job's savepoint directory)",
    )
    add_format(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Take a savepoint of the job, and print its path."""
    if args.job is not None and args.name is not None:
        if args.directory is not None:
            raise UsageError(f"two jobs are named: {args.name} and --job {args.job}")
        # with --job, the only other word is the directory
        args.name, args.directory = None, location(args.name)
    job, answer = send_command(
        args, "savepoint", directory=target(args, args.directory), format=args.format
    )
    return report(args, job, answer, str(answer["savepoint"]))
