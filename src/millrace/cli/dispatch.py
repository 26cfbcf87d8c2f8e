"""Execution of a command line by its command, and the messages for its errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from millrace.cli.arguments import UsageError
from millrace.cli.parser import parse
from millrace.cli.printing import printable
from millrace.cli.signals import INTERRUPTED, TERMINATED, Terminated
from millrace.common.errors import MillraceError
from millrace.engine.exit_note import PendingNote

__all__ = ["dispatch"]

DONE, FAILED, WRONG_USAGE = 0, 1, 2


def dispatch(argv: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    note = PendingNote()
    try:
        note.code = _run(argv)
    except KeyboardInterrupt:
        note.code = INTERRUPTED
        raise
    except Terminated:
        note.code = TERMINATED
        raise
    return note.code


def _run(argv: Sequence[str]) -> int:
    try:
        arguments = parse(argv)
        return int(arguments.handler(arguments, argv))
    except UsageError as error:
        return _reported(error, WRONG_USAGE)
    except MillraceError as error:
        return _reported(error, FAILED)
    except BrokenPipeError:  # head and less may close before everything is said
        sys.stdout = None
        return DONE
    except OSError as error:  # a directory that may not be read, a disk that is full
        place = f"{error.filename}: " if error.filename is not None else ""
        return _reported(MillraceError(f"{place}{error.strerror or error}"), FAILED)
    except MemoryError:
        return _reported(MillraceError("there is not enough memory for this"), FAILED)


def _reported(error: MillraceError, code: int) -> int:
    print(f"millrace: {printable(str(error), keep=chr(10))}", file=sys.stderr)
    return code
