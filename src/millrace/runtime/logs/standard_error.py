"""The log of a worker that has no file: its standard error."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

__all__ = ["StandardErrorHandler"]


class StandardErrorHandler(logging.StreamHandler[TextIO]):
    """Writes records to what is standard error; that may be broken, full or closed."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Complain, unless it is for want of the stream: there is nowhere to say so."""
        if not isinstance(sys.exception(), OSError) and not self.stream.closed:
            super().handleError(record)
