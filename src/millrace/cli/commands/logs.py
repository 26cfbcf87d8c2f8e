"""``millrace logs``: shows the output and the log of a job."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from millrace.cli.commands.grammar import Commands, add_command, add_job

POLL = 0.5
"""Seconds between two looks for something new."""
Read = Callable[[int], tuple[str, int]]


def register(commands: Commands) -> None:
    """Add ``millrace logs`` to the parser."""
    parser = add_command(
        commands,
        "logs",
        handle,
        "show the log of a job",
        "Show the log of a job; for a job of a server also its output.",
    )
    add_job(parser)
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="also show new lines, until the job ends or Ctrl-C is pressed",
    )
    parser.add_argument(
        "-n",
        "--bytes",
        metavar="N",
        type=int,
        default=64 << 10,
        help="begin this number of bytes before the end; 0: at the beginning (default: 65536)",
    )


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Print the log and the lines that are added to it."""
    from millrace.cli.operated_job import operated_job

    job = operated_job(args)
    try:
        awaited = job.await_end if args.follow else None
        follow_log(job.log, -args.bytes if args.bytes > 0 else 0, awaited)
    except KeyboardInterrupt:
        return 0
    return 0


def follow_log(read: Read, offset: int, await_end: Callable[[float], bool] | None) -> None:
    """Print a log from an offset to its end, then the lines that are added.

    Args:
        await_end: waits for the job's end, at most for a number of seconds, and returns whether
            the job has ended. None to print the present log only.
    """
    from millrace.cli.printing import printable

    ended = await_end is None
    while True:
        text, following = read(offset)
        sys.stdout.write(printable(text, keep="\n\t"))
        sys.stdout.flush()
        nothing_new = not text or following == offset
        offset = following
        if nothing_new and ended:
            return
        if nothing_new and await_end is not None:
            ended = await_end(POLL)
