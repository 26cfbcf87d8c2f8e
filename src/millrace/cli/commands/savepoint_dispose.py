"""``millrace savepoint dispose``: delete a savepoint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command
from millrace.cli.savepoint_names import resolved


def register(commands: Commands) -> None:
    """Add ``millrace savepoint dispose`` to the parser."""
    parser = add_command(
        commands,
        "dispose",
        handle,
        "delete a savepoint",
        "Delete the files of a savepoint, and no other files.",
    )
    parser.add_argument("path", metavar="PATH", help="the savepoint, or the first digits of its id")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Delete the savepoint after a confirmation."""
    path = resolved(args.path)
    from millrace.cli.printing import print_json, printable, size_text
    from millrace.common.time.local_time import time_text
    from millrace.state.checkpoint.savepoints import check_disposable, dispose_savepoint, size_of

    snapshot = check_disposable(path)
    size = size_of(snapshot)
    manifest = snapshot.manifest
    if not args.yes and not _confirmed(
        f"delete {snapshot.path} of job '{manifest.job_name}' "
        f"({size_text(size)}, made {time_text(manifest.timestamp)})?"
    ):
        print("millrace: nothing was deleted", file=sys.stderr)
        return 1
    left = dispose_savepoint(path)
    if args.json:
        print_json({"disposed": str(snapshot.path), "size": size, "left": list(map(str, left))})
    else:
        print(printable(f"deleted {snapshot.path} ({size_text(size)})"))
        for file in left:
            print(printable(f"not deleted, because it does not belong to the savepoint: {file}"))
    return 0


def _confirmed(question: str) -> bool:
    from millrace.cli.printing import printable

    print(printable(f"{question} [y/N] "), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
