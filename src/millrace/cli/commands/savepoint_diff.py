"""``millrace savepoint diff``: shows the changes between two savepoints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command
from millrace.cli.commands.savepoint_paths import add_allow_pickle, reader_of

SAMPLES = 3


def register(commands: Commands) -> None:
    """Add ``millrace savepoint diff`` to the parser."""
    parser = add_command(
        commands,
        "diff",
        handle,
        "show what changed between two savepoints or checkpoints",
        "Show, per operator and state, the number of keys that were added, changed and "
        "removed between A and B, with samples. Subtasks with the same version in both are "
        "not read, so this does not check files for damage.",
    )
    parser.add_argument("a", metavar="A", help="a savepoint or checkpoint: its path or its id")
    parser.add_argument("b", metavar="B", help="the other one")
    parser.add_argument(
        "--samples",
        metavar="N",
        type=int,
        default=SAMPLES,
        help=f"maximum number of keys to show per state and kind of change (default: {SAMPLES})",
    )
    parser.add_argument(
        "--all", action="store_true", help="include the internal states of operators"
    )
    add_allow_pickle(parser)


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Compare two savepoints; exit code 1 if some states cannot be compared."""
    from millrace.cli.diff_report import lines
    from millrace.cli.printing import print_json, print_lines, printable
    from millrace.state.snapshot_diff import diff_snapshots
    from millrace.state.snapshot_diff_json import diff_as_json

    a, b = (reader_of(word, args.allow_pickle) for word in (args.a, args.b))
    diffs = diff_snapshots(a, b, max(0, args.samples), args.all)
    if args.json:
        print_json([diff_as_json(diff) for diff in diffs])
    else:
        print_lines(lines(diffs))
    unread = [diff for diff in diffs if diff.unread]
    for diff in unread:
        text = f"{diff.table} was not compared: {diff.unread}"
        print(f"millrace: {printable(text)}", file=sys.stderr)
    return 1 if unread else 0
