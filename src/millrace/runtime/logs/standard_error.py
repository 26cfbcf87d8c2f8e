"""Standard error as the log of a worker without a log file."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

__all__ = ["StandardErrorHandler"]


class StandardErrorHandler(logging.StreamHandler[TextIO]):
    """Writes records to standard error, which may be broken, full or closed."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Report an error, except one of the stream itself: then there is no place for a report."""
        if not isinstance(sys.exception(), OSError) and not self.stream.closed:
            super().handleError(record)
