"""Names of savepoints on command lines: a directory, a path, or the beginning of an id."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from millrace.cli.arguments import location
from millrace.filesystem import registry

if TYPE_CHECKING:
    from millrace.state.checkpoint.snapshot import Snapshot
    from millrace.state.snapshot_reader import SnapshotReader

_ID = re.compile(r"[0-9a-f]{4,}")


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
    found = savepoints_below(directory)
    if not found:
        print(f"millrace: there are no savepoints below {directory}", file=sys.stderr)
    return found


def savepoints_below(directory: Path) -> list[Snapshot]:
    """The savepoints below a directory; damaged ones are reported."""
    from millrace.cli.printing import printable
    from millrace.state.checkpoint.savepoints import DamagedSavepoint, find_savepoints

    savepoints = []
    for found in find_savepoints(directory):
        if isinstance(found, DamagedSavepoint):
            print(f"millrace: {printable(found.reason)}", file=sys.stderr)
        else:
            savepoints.append(found)
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


def resolved(word: str) -> str:
    """Location of a snapshot: the path itself, or the savepoint whose id begins with the word.

    Raises:
        CheckpointError: several savepoints under the state directory have such an id.
        UnsupportedFileSystemSchemeError: the path is a URI of another file system.
    """
    from millrace.cli.savepoint_summary import digits
    from millrace.cli.state_directory import default_savepoint_dir
    from millrace.common.errors import CheckpointError

    if not _ID.fullmatch(word) or os.path.exists(word):
        return registry.resolved(word)
    below = savepoints_below(default_savepoint_dir())
    found = [s.path for s in below if digits(s.manifest.snapshot_id).startswith(word)]
    if len(found) > 1:
        raise CheckpointError(f"{word} could be {' or '.join(map(str, found))}")
    return found[0] if found else registry.resolved(word)
