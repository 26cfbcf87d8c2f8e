"""The default directory of a user's own state: checkpoints and logs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from millrace.filesystem.local_file_system import LocalFileSystem

CHECKPOINTS = "checkpoints"
SAVEPOINTS = "savepoints"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """``$XDG_STATE_HOME/millrace``, or ``~/.local/state/millrace`` (XDG Base Directory
    Specification), made if missing. A temporary directory if it cannot be made."""
    directory = _wanted(environment)
    try:
        LocalFileSystem().make_directory(str(directory), durable=False)  # for its user alone
        if os.access(directory, os.W_OK):
            return directory
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="millrace-state-"))


def _wanted(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_STATE_HOME", "")
    if os.path.isabs(base):
        return Path(base, "millrace")
    home = environment.get("HOME") or os.path.expanduser("~")
    return Path(home, ".local", "state", "millrace")


def default_checkpoint_dir() -> Path:
    """The default directory of checkpoints."""
    return state_directory() / CHECKPOINTS


def default_savepoint_dir() -> Path:
    """The default directory of savepoints."""
    return state_directory() / SAVEPOINTS
