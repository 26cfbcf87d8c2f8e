"""The ``millrace`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from millrace.cli.arguments import UsageError
from millrace.cli.parser import parse
from millrace.cli.printing import printable
from millrace.common.errors import MillraceError
from millrace.engine.exit_note import PendingNote

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (None: that of this process) and return its exit code.

    0: done; 1: it could not be done, or the job failed; 2: wrong usage; 130: interrupted.
    """
    argv = sys.argv[1:] if argv is None else argv
    note = PendingNote()
    note.code = _run(argv)
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
        return _reported(MillraceError("there is not enough memory for that"), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED


def _reported(error: MillraceError, code: int) -> int:
    print(f"millrace: {printable(str(error), keep=chr(10))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
