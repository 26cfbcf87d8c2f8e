"""Check that a checkpoint was made by the program that resumes from it.

A changed program may resume. Another program whose job happens to have the same name must not: it
would take over foreign state under uids that only look like its own, because uids that follow from
the structure are equal for programs of one shape.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from millrace.common.errors import CheckpointError
from millrace.state.checkpoint.manifest import Manifest

__all__ = ["require_same_program"]

_STRUCTURAL = re.compile(r"[0-9a-f]{16}(-feedback)?")
"""Form of uids that the user has not chosen (see `millrace.plan.uids`)."""


def require_same_program(manifest: Manifest, program: str, uids: Iterable[str], path: str) -> None:
    """Raise an error if the checkpoint belongs to another program.

    Two programs are the same if their files have the same name, in any directory, or if both have a
    uid that a user has given.

    Args:
        program: the file of the running program; empty for an interactive session.
        uids: the uids of the running job's operators.
        path: the path of the checkpoint.

    Raises:
        CheckpointError: the checkpoint belongs to another program; the message names both.
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
