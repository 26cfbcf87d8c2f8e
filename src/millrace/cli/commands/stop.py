"""``millrace stop``: ends a job with a savepoint."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.arguments import UsageError, location
from millrace.cli.commands.grammar import Commands, add_command, add_job
from millrace.cli.commands.job_request import add_format, check_ended, report, send_command, target


def register(commands: Commands) -> None:
    """Add ``millrace stop`` to the parser."""
    parser = add_command(
        commands,
        "stop",
        handle,
        "end a running job with a savepoint",
        "End a running job after its epoch, with a savepoint of its final state.",
    )
    add_job(parser)
    parser.add_argument(
        "--savepoint",
        metavar="DIR",
        type=location,
        help="directory for the savepoint (default: the job's savepoint directory)",
    )
    parser.add_argument(
        "--drain",
        action="store_true",
        help=(
            "end event time first: all timers fire, all windows close; a job should not "
            "continue from this savepoint"
        ),
    )
    add_format(parser)
    parser.add_argument(
        "--no-savepoint",
        action="store_true",
        help=(
            "end with a checkpoint only, as Ctrl-C does; 'millrace run --resume' continues from it"
        ),
    )


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Stop the job."""
    if args.no_savepoint and (args.savepoint is not None or args.drain):
        raise UsageError("--no-savepoint cannot be combined with --savepoint or --drain")
    job, answer = send_command(
        args,
        "stop",
        savepoint=not args.no_savepoint,
        directory=target(args, args.savepoint),
        drain=args.drain,
        format=args.format,
    )
    check_ended(job, answer)
    ended = "has ended" if job.await_end(args.timeout) else "is ending"
    with_what = "a checkpoint" if args.no_savepoint else f"the savepoint {answer['savepoint']}"
    return report(args, job, answer, f"job '{job.name}' {ended} with {with_what}")
