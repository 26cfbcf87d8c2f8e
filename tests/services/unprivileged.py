"""Commands as a user who is not root, for servers that refuse to be started by root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_NOBODY = 65534
_MAY_PASS = "+dac_override"  # the repository may be where nobody else may look


def unprivileged(command: Sequence[str | Path], directory: Path) -> Sequence[str | Path]:
    """The command as it is, or, if this process is root's, as nobody's.

    Args:
        command: its words.
        directory: will be nobody's.
    """
    if os.geteuid() != 0:
        return command
    os.chown(directory, _NOBODY, _NOBODY)
    user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    rights = [f"--inh-caps={_MAY_PASS}", f"--ambient-caps={_MAY_PASS}"]
    # the kernel forgets whose end this process shall follow when it changes its user
    return [*user, *rights, "--pdeathsig=SIGKILL", *command]
