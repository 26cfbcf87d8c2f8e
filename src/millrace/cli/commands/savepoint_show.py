"""``millrace savepoint show``: shows all details of one savepoint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command
from millrace.cli.commands.savepoint_paths import add_allow_pickle, reader_of


def register(commands: Commands) -> None:
    """Add ``millrace savepoint show`` to the parser."""
    parser = add_command(
        commands,
        "show",
        handle,
        "show all details of a savepoint or checkpoint",
        "Show all details of a savepoint or checkpoint: the job, its files, its operators, "
        "their states and numbers of entries, and the positions of its sources.",
    )
    parser.add_argument(
        "path", metavar="PATH", help="its path, the first digits of its id, or a job's directory"
    )
    parser.add_argument(
        "--all", action="store_true", help="include the internal states of operators"
    )
    parser.add_argument(
        "--no-count", action="store_true", help="do not read the states to count their entries"
    )
    add_allow_pickle(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Show the savepoint."""
    from millrace.cli.printing import print_json, print_lines, printable
    from millrace.cli.snapshot_report import SnapshotReport

    reader = reader_of(args.path, args.allow_pickle)
    report = SnapshotReport(reader, args.all, not args.no_count)
    if args.json:
        print_json(report.as_json())
    else:
        print_lines(report.lines())
    for reason in report.unread:
        print(f"millrace: {printable(reason)}", file=sys.stderr)
    return 0
