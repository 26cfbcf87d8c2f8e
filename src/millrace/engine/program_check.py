"""Whether a checkpoint was made by the program that wants to resume from it.

A program that has been changed resumes; another one that happens to give its job the same name
would take over foreign state under uids that only look like its own: those that follow from the
structure are equal for programs of one shape.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from millrace.common.errors import CheckpointError
from millrace.state.checkpoint.manifest import Manifest

__all__ = ["require_same_program"]

_STRUCTURAL = re.compile(r"[0-9a-f]{16}(-feedback)?")
"""Uids that no user has given (see `millrace.plan.uids`)."""


def require_same_program(manifest: Manifest, program: str, uids: Iterable[str], path: str) -> None:
    """Refuse to resume from another program's checkpoint.

    It is the same program if it is in a file of the same name, wherever that has been moved to, or
    if a uid that a user has given is in both.

    Args:
        program: the file that runs now; empty: an interactive session.
        uids: of the operators of the job that runs now.
        path: of the checkpoint.

    Raises:
        CheckpointError: it is another one; says what was found.
    """
    if _file_name(manifest.program) == _file_name(program):
        return
    given = {uid for uid in uids if not _STRUCTURAL.fullmatch(uid)}
    if given & manifest.operators.keys():
        return
    raise CheckpointError(
        f"checkpoint {manifest.checkpoint} of job '{manifest.job_name}' was made by another "
        f"program: {_called(manifest.program)}, with the operators "
        f"{', '.join(manifest.operators.values())}. This is {_called(program)}. Give the job a "
        "name of its own (--name, or in execute()); if it is the same program under another name, "
        f"start it from the checkpoint: millrace run -s {path}"
    )


def _file_name(program: str) -> str:
    directory, name = os.path.split(program)
    return os.path.basename(directory) if name == "__main__.py" else name


def _called(program: str) -> str:
    return program or "an interactive session"
