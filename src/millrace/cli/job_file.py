"""Running a job file as ``python job.py`` would."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def run_job_file(path: Path, arguments: Sequence[str]) -> None:
    """Execute the file as ``__main__``, with its arguments in ``sys.argv``.

    The module stays ``__main__`` when the file has been read to its end (`runpy` would take it
    away): a job may still be running in the background, and its classes are found there.
    """
    sys.argv = [str(path), *arguments]
    with io.open_code(str(path)) as file:
        code = compile(file.read(), str(path), "exec")
    module = ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)
