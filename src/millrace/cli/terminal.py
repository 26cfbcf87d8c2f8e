"""Standard error of a terminal, with at most one live line at its bottom. The live line is
removed before any other output."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TextIO

CLEAR_LINE = "\r\x1b[2K"


class Terminal:
    """Messages to the person at the terminal.

    Args:
        stream: the output stream; it has a live line only if it is a terminal.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._lock = RLock()
        self._live = False
        self._mid_line = False
        self.interactive = self._stream.isatty()

    @property
    def width(self) -> int:
        """Maximum length of a live line, in characters."""
        return shutil.get_terminal_size().columns - 1

    def say(self, text: str) -> None:
        """Print a line that is marked as a message of millrace."""
        self.write(f"millrace: {text}\n")

    def write(self, text: str) -> None:
        """Print lines as they are."""
        with self._lock:
            self.clear()
            self._stream.write(text)
            self._stream.flush()

    def show(self, line: str) -> None:
        """Make ``line`` the live line, unless other output is in the middle of a line."""
        with self._lock:
            if self._mid_line:
                return
            self._stream.write(CLEAR_LINE + line[: self.width])
            self._stream.flush()
            self._live = True

    def clear(self) -> None:
        """Remove the live line, if there is one."""
        with self._lock:
            if self._live:
                self._stream.write(CLEAR_LINE)
                self._stream.flush()
                self._live = False

    def note_output(self, text: str) -> None:
        """Remove the live line, because ``text`` is about to be printed on the same screen."""
        with self._lock:
            self.clear()
            self._mid_line = bool(text) and not text.endswith("\n")


class _SharedStdout(io.TextIOWrapper):
    """Standard output that removes the live line before each write."""

    terminal: Terminal

    def write(self, text: str) -> int:
        self.terminal.note_output(text)
        return super().write(text)


@contextmanager
def sharing_stdout(terminal: Terminal) -> Iterator[None]:
    """Context that keeps printed output and the live line apart on one screen."""
    original = sys.stdout
    if not (terminal.interactive and original.isatty()):
        yield
        return
    shared = _SharedStdout(original.buffer, original.encoding, original.errors, line_buffering=True)
    shared.terminal = terminal
    sys.stdout = shared
    try:
        yield
    finally:
        shared.flush()
        shared.detach()
        sys.stdout = original
