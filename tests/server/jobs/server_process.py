"""A job server whose jobs run without Spark; takes the arguments of ``millrace server``."""

from __future__ import annotations

import sys
from pathlib import Path

from millrace.cli.main import main
from millrace.server.supervisor import Supervisor

COMMAND = (sys.executable, str(Path(__file__).parent / "local_millrace.py"))


def jobs_without_spark() -> None:
    """Not when the module is imported: pytest looks for doctests in it, in every test run."""
    Supervisor.__init__.__defaults__ = (COMMAND, *Supervisor.__init__.__defaults__[1:])


if __name__ == "__main__":
    jobs_without_spark()
    sys.exit(main(["server", *sys.argv[1:]]))
