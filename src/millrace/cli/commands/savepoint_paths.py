"""Names of savepoints on command lines: a directory, a path, or the beginning of an id."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from millrace.cli.arguments import location
from millrace.cli.savepoint_names import resolved, savepoints_below

if TYPE_CHECKING:
    from millrace.state.checkpoint.snapshot import Snapshot
    from millrace.state.snapshot_reader import SnapshotReader


def add_directory(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the directory of savepoints."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=location,
        help=(
            "directory of the savepoints, with the directories below it (default: under your "
            "state directory)"
        ),
    )


def found_below(args: argparse.Namespace) -> list[Snapshot]:
    """The savepoints below the directory of the arguments; damaged ones are reported.

    Raises:
        CheckpointError: there is no such directory.
    """
    from millrace.cli.state_directory import default_savepoint_dir
    from millrace.common.errors import CheckpointError

    directory = args.directory or default_savepoint_dir()
    if args.directory is not None and not directory.is_dir():
        raise CheckpointError(f"there is no directory {directory}")
    savepoints = savepoints_below(directory)
    if not savepoints:
        print(f"millrace: there are no savepoints below {directory}", file=sys.stderr)
    return savepoints


def add_allow_pickle(parser: argparse.ArgumentParser) -> None:
    """Add the option that marks a savepoint as trusted."""
    parser.add_argument(
        "--allow-pickle",
        action="store_true",
        help="also read native snapshots and pickled values, which can run code of their author",
    )


def reader_of(word: str, allow_pickle: bool) -> SnapshotReader:
    """A reader of the snapshot that a path or an id names.

    Raises:
        CheckpointError: the snapshot does not exist, or is damaged.
    """
    from millrace.state.checkpoint.snapshot import open_snapshot
    from millrace.state.snapshot_reader import SnapshotReader

    return SnapshotReader(open_snapshot(resolved(word), allow_pickle))
