"""Asks a running job for feeds: ``python read_feed.py p001 p002``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from millrace.rest import QueryableStateClient

STATE = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "millrace"


def main() -> None:
    """Print the newest posts of each feed, whoever wrote them."""
    client = QueryableStateClient.of_job(str(STATE / "checkpoints"), "feed", wait=30)
    for user, feed in client.get_all("feeds", "feeds", sys.argv[1:]).items():
        posts = sorted((tuple(post) for posts in feed.values() for post in posts), reverse=True)
        print(f"{user}: {', '.join(text for _, text in posts[:4])}")


if __name__ == "__main__":
    main()
