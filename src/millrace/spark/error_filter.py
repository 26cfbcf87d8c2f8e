"""Filter for the standard error of a JVM: a process that passes lines to the terminal, and lives as
long as the JVM.

A thread of the driver would end with the driver, and the JVM says its last words after that: a
failed shutdown, a crash, or workers whose driver was killed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["filtered_errors"]

_INCUBATOR = "WARNING: Using incubator modules: jdk.incubator.vector"
"""First line of a JVM that Spark's launcher starts. No option of Java suppresses it."""
_FILTER = f"""
trap '' INT TERM HUP PIPE
while IFS= read -r line; do
  case $line in
    '{_INCUBATOR}') line=; break ;;
    *'Picked up '*) printf '%s\\n' "$line" ;;
    *) printf '%s\\n' "$line"; line=; break ;;
  esac
  line=
done
printf '%s' "$line"
cat
exec cat >/dev/null
"""
"""Program of the shell: it looks at the first line that is not about Java's environment variables,
and ``cat`` copies the rest as it comes. A shell reads no more of a pipe than its line. If the
terminal goes, the rest is read all the same: workers whose pipe has no reader would fail."""
_PATIENCE = 5
"""Seconds for the last words of a JVM that did not start."""
_filters: list[subprocess.Popen[bytes]] = []
"""Filters of this process that have not ended, as far as is known: the next one looks for it."""


@contextmanager
def filtered_errors(terminal: int = 2) -> Iterator[int]:
    """Context in which a new JVM is started: its value is the file descriptor for the JVM's
    standard error.

    All that the JVM and its children write there goes to the terminal, until the last of them
    ends, even if this process ends before. Only Java's warning of a module that Spark's launcher
    has chosen is left out. If the JVM fails to start, its words stand before the exception's. The
    first line is shown once it has ended, since only then is it known whether it is that warning.

    Args:
        terminal: descriptor that the errors go to.
    """
    # before the pipe, whose end may get the number of a terminal that is closed
    shown = terminal if _is_open(terminal) else subprocess.DEVNULL
    readable, writable = os.pipe()
    try:
        errors = subprocess.Popen(
            ["/bin/sh", "-c", _FILTER],
            stdin=readable,
            stdout=shown,
            stderr=subprocess.DEVNULL,  # cat's word of a terminal that is gone
            cwd="/",
            start_new_session=True,  # no signal of a terminal or a process group ends it
        )
    except BaseException:
        os.close(writable)
        raise
    finally:
        os.close(readable)
    _filters[:] = [running for running in _filters if running.poll() is None]
    _filters.append(errors)
    try:
        yield writable
    except BaseException:
        os.close(writable)
        with suppress(subprocess.TimeoutExpired):
            errors.wait(_PATIENCE)
        raise
    os.close(writable)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
