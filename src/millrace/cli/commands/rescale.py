"""``millrace rescale``: change the parallelism of a running job."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.arguments import UsageError
from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import report, send_command


def register(commands: Commands) -> None:
    """Add ``millrace rescale`` to the parser."""
    parser = add_command(
        commands,
        "rescale",
        handle,
        "change the parallelism of a running job",
        "Change the parallelism of a running job between two of its epochs, without a restart.",
    )
    add_job(parser)
    parser.add_argument(
        "-p", "--parallelism", metavar="N", type=int, required=True, help="the new parallelism"
    )


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Send the job the command to rescale, and print the result."""
    if args.parallelism < 1:
        raise UsageError(f"the parallelism must be at least 1, not {args.parallelism}")
    job, answer = send_command(args, "rescale", parallelism=args.parallelism)
    text = f"job '{job.name}' runs with parallelism {args.parallelism}"
    return report(args, job, answer, text)
