"""The ``millrace`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from millrace.cli.arguments import UsageError, parse_arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (None: that of this process) and return its exit code.

    0: finished, or stopped as asked; 1: failed; 2: wrong usage; 130: interrupted.
    """
    argv = sys.argv[1:] if argv is None else argv
    try:
        arguments = parse_arguments(argv)
    except UsageError as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 2
    from millrace.cli.run import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
