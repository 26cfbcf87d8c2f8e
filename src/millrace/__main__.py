"""``python -m millrace``: runs the command line, for systems on which the script is not on the
path."""

from __future__ import annotations

import sys

from millrace.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
