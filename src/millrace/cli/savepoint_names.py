"""Names of savepoints: a path, or the beginning of the id of one below the state directory."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from millrace.filesystem import registry

if TYPE_CHECKING:
    from millrace.state.checkpoint.snapshot import Snapshot

__all__ = ["resolved", "savepoints_below"]

_ID = re.compile(r"[0-9a-f]{4,}")


def savepoints_below(directory: Path) -> list[Snapshot]:
    """The savepoints below a directory; damaged ones are reported."""
    from millrace.cli.printing import printable
    from millrace.state.checkpoint.savepoints import DamagedSavepoint, find_savepoints

    savepoints = []
    for savepoint in find_savepoints(directory):
        if isinstance(savepoint, DamagedSavepoint):
            print(f"millrace: {printable(savepoint.reason)}", file=sys.stderr)
        else:
            savepoints.append(savepoint)
    return savepoints


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
    paths = [s.path for s in below if digits(s.manifest.snapshot_id).startswith(word)]
    if len(paths) > 1:
        raise CheckpointError(f"{word} could be {' or '.join(map(str, paths))}")
    return paths[0] if paths else registry.resolved(word)
