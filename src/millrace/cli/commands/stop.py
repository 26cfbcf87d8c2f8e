"""``millrace stop``: end a job with a savepoint."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.arguments import UsageError, location
from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import add_format, ask_job, check_ended, report, target


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "stop",
        handle,
        "end a running job with a savepoint",
        "End a running job after its epoch, with a savepoint of exactly where it stopped.",
    )
    add_job(parser)
    parser.add_argument(
        "--savepoint",
        metavar="DIR",
        type=location,
        help="where to put the savepoint (default: the job's savepoint directory)",
    )
    parser.add_argument(
        "--drain",
        action="store_true",
        help="end event time first: all timers fire, all windows close; do not go on from that",
    )
    add_format(parser)
    parser.add_argument(
        "--no-savepoint",
        action="store_true",
        help="only with a checkpoint, as Ctrl-C does; 'millrace run --resume' goes on from it",
    )


def handle(named: argparse.Namespace, argv: Sequence[str]) -> int:
    """Stop the job."""
    if named.no_savepoint and (named.savepoint is not None or named.drain):
        raise UsageError("--no-savepoint goes neither with --savepoint nor with --drain")
    job, answer = ask_job(
        named,
        "stop",
        savepoint=not named.no_savepoint,
        directory=target(named.savepoint),
        drain=named.drain,
        format=named.format,
    )
    check_ended(job, answer)
    from millrace.engine.control_client import await_end

    ended = "has ended" if await_end(job.directory, named.timeout) else "is ending"
    with_what = "a checkpoint" if named.no_savepoint else f"the savepoint {answer['savepoint']}"
    return report(named, job, answer, f"job '{job.name}' {ended} with {with_what}")
