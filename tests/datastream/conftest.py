"""What is not collected here: programs that are for mypy only."""

from __future__ import annotations

collect_ignore_glob = ["typing_programs/*"]
