"""The ``millrace`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from millrace.cli.signals import INTERRUPTED, TERMINATED, Terminated, raising_terminated

_NEEDED = frozenset({"cloudpickle", "msgspec", "numpy", "py4j", "pyarrow", "pyspark"})
"""Packages without which no command works: pip installs them with Millrace, a zip does not."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (None: the arguments of this process) and return its exit code.

    0: done; 1: it could not be done, or the job failed; 2: wrong usage; 130: interrupted by Ctrl-C;
    143: ended by SIGTERM.
    """
    argv = sys.argv[1:] if argv is None else argv
    with raising_terminated():
        try:
            # the rest of the command is imported here, where signals are handled
            from millrace.cli.dispatch import dispatch

            return dispatch(argv)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in _NEEDED:
                raise
            print(
                f"millrace: the package {package} is missing in this Python ({sys.executable}): "
                f"python -m pip install {package}",
                file=sys.stderr,
            )
            return 1
        except KeyboardInterrupt:
            print("millrace: interrupted", file=sys.stderr)
            return INTERRUPTED
        except Terminated as end:
            print(f"millrace: {end}", file=sys.stderr)
            return TERMINATED


if __name__ == "__main__":
    sys.exit(main())
