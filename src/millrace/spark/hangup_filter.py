"""Standard error of a Python worker, without PySpark's traceback when a connection is closed."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO, cast

__all__ = ["filter_hangups"]

_DAEMON = os.path.join("pyspark", "daemon.py")


def filter_hangups() -> None:
    """Keep the traceback that PySpark prints for a closed connection out of this worker's standard
    error.

    When a job is cancelled, the JVM closes its connection to a worker that still runs; the worker's
    next write fails, and the daemon prints that as an error. It is none: nobody waits for what the
    worker writes, and on a terminal it stands between the user's own lines.
    """
    if not isinstance(sys.stderr, HangupFilter):
        sys.stderr = cast(TextIO, HangupFilter(sys.stderr))


class HangupFilter:
    """A text stream that drops text written while the daemon handles a closed connection."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write or drop the text; returns its length, as text streams do."""
        return len(text) if _hung_up(sys.exc_info()[1]) else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _hung_up(error: BaseException | None) -> bool:
    """Whether the daemon's own frame caught the error of the connection; errors of a user's
    closed sockets are caught in inner frames."""
    if not isinstance(error, BrokenPipeError | ConnectionResetError):
        return False
    caught = error.__traceback__
    return caught is not None and caught.tb_frame.f_code.co_filename.endswith(_DAEMON)
