"""Asks a running job for the profiles of users: ``python ask.py u01 u02``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from millrace.rest import QueryableStateClient

STATE = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "millrace"


def main() -> None:
    """Print the profiles."""
    client = QueryableStateClient.of_job(str(STATE / "checkpoints"), "analytics", wait=30)
    for user, profile in client.get_all("profiles", "profiles", sys.argv[1:]).items():
        print(user, profile)


if __name__ == "__main__":
    main()
