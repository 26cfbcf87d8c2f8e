"""``millrace savepoint tree``: shows the savepoints as a tree, each below the one from which its
job started."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from millrace.cli.commands.grammar import Commands, add_command
from millrace.cli.commands.savepoint_paths import add_directory, found_below


def register(commands: Commands) -> None:
    """Add ``millrace savepoint tree`` to the parser."""
    add_directory(
        add_command(
            commands,
            "tree",
            handle,
            "draw which savepoint came from which, as 'git log --graph' does",
        )
    )


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Draw the tree, the newest first."""
    savepoints = found_below(args)
    from millrace.cli.lineage import LineageNode, draw
    from millrace.cli.printing import aligned, print_json, print_lines
    from millrace.cli.savepoint_summary import columns, short_id, summary

    if args.json:
        print_json([summary(s) for s in sorted(savepoints, key=lambda s: s.manifest.timestamp)])
        return 0
    labels = aligned([columns(savepoint) for savepoint in savepoints])
    nodes = [
        LineageNode(s.manifest.snapshot_id, s.manifest.ancestor, s.manifest.timestamp, label)
        for s, label in zip(savepoints, labels, strict=True)
    ]
    print_lines(draw(nodes, lambda id: f"{short_id(id)}  (not here)"))
    return 0
