"""File of the program that this process runs, and the default name of its jobs.

Two programs without names for their jobs must not share a directory of checkpoints, so the default
name depends on the program's path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["default_job_name", "program_file"]

_NOTEBOOKS = ("__vsc_ipynb_file__", "JPY_SESSION_NAME")
"""Variables with the path of a kernel's notebook: an editor sets a variable in the notebook,
Jupyter's server one in the environment."""


def program_file(environment: Mapping[str, str] = os.environ) -> str | None:
    """Path of the script or notebook; None in an interactive session.

    Symbolic links are not resolved: if a deployment changes the link's target, the program is still
    the same.
    """
    main = sys.modules.get("__main__")
    variable, session = _NOTEBOOKS
    path = getattr(main, "__file__", None) or getattr(main, variable, None)
    path = path or environment.get(session)
    return os.path.abspath(path) if isinstance(path, str) and path else None


def default_job_name(file: str | None) -> str:
    """Name of a job without a name of its own.

    Example:
        >>> default_job_name("/srv/fraud/alarms.py"), default_job_name("/srv/fraud/__main__.py")
        ('alarms (/srv/fraud)', 'fraud (/srv)')
    """
    if file is None:
        return f"interactive session ({_shown(Path.cwd())})"
    path = Path(file)
    if path.name == "__main__.py":
        path = path.parent
    return f"{path.stem} ({_shown(path.parent)})"


def _shown(directory: Path) -> str:
    home = os.path.expanduser("~")
    if directory.is_relative_to(home) and home != os.sep:
        return str(Path("~", directory.relative_to(home)))
    return str(directory)
