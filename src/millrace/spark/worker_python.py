"""The Python of workers on this machine, which must match the Python of the driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

from millrace.common.errors import ConfigurationError

__all__ = ["require_worker_python"]

VARIABLE = "PYSPARK_PYTHON"
_ASK = "import sys; print(*sys.version_info[:2], sep='.')"
_PATIENCE = 60.0
"""Seconds in which an interpreter must tell its version."""


def require_worker_python(environment: Mapping[str, str] = os.environ) -> None:
    """Check that Spark on this machine can start the Python of its workers, and that this Python
    has the version of the driver's. Without this check, every task would fail repeatedly.

    Raises:
        ConfigurationError: it cannot be run, or has another version.
    """
    python = environment.get(VARIABLE, sys.executable)
    of_archive = os.path.dirname(python) != "" and not os.path.isabs(python)  # not unpacked yet
    if python == sys.executable or of_archive:
        return
    remedy = f"unset it, or set it to a Python {_version()} with Millrace"
    path = shutil.which(python)
    version = None if path is None else _version_of(path)
    if version is None:
        raise ConfigurationError(
            f"the environment variable {VARIABLE} is {python!r}, which is not a Python that can "
            f"be run: {remedy}"
        )
    if version != _version():
        raise ConfigurationError(
            f"the environment variable {VARIABLE} is {python!r}, a Python {version}, and this "
            f"program runs on Python {_version()}: {remedy}"
        )


def _version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _version_of(python: str) -> str | None:
    """Version of an interpreter; None if it does not tell. A wrapper, or a file of its site, may
    print lines before."""
    try:
        command = [python, "-c", _ASK]
        told = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout.split()[-1] if told.stdout.strip() else None
