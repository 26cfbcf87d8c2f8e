"""``millrace savepoint list``: the savepoints below a directory."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command
from millrace.cli.commands.savepoint_paths import add_directory, found_below


def register(commands: Commands) -> None:
    """Add ``millrace savepoint list`` to the parser."""
    add_directory(add_command(commands, "list", handle, "show the savepoints below a directory"))


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Print the savepoints, the newest first."""
    savepoints = sorted(found_below(args), key=lambda s: s.manifest.timestamp, reverse=True)
    from millrace.cli.printing import print_json, print_table
    from millrace.cli.savepoint_summary import columns, summary

    if args.json:
        print_json([summary(savepoint) for savepoint in savepoints])
    elif savepoints:
        heads = ("ID", "OF", "JOB", "FROM", "SIZE", "PARALLELISM", "PATH")
        print_table(heads, [(*columns(s), str(s.path)) for s in savepoints])
    return 0
