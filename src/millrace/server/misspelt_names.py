"""Unknown names in requests that look like known ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

from millrace.server.api_route import ApiError

__all__ = ["nearest_name", "refuse_misspelt"]

_LOOKED_AT = 100
"""Number of names of a request that are compared. A body has room for 100,000, and other requests
wait meanwhile."""


def nearest_name(name: str, known: Iterable[str], likeness: float = 0.8) -> str:
    """``; did you mean 'x'?`` if a known name is near, else an empty text.

    Example:
        >>> nearest_name("paralelism", ["parallelism", "jobName"])
        "; did you mean 'parallelism'?"
        >>> nearest_name("triggerId", ["parallelism", "jobName"])
        ''
    """
    near = get_close_matches(name[:200], list(known), n=1, cutoff=likeness)
    return f"; did you mean {near[0]!r}?" if near else ""


def refuse_misspelt(given: Iterable[str], known: Sequence[str], what: str) -> None:
    """Refuse names that are probably misspelt. Foreign names pass, because clients of other Flink
    releases send some.

    Raises:
        ApiError: 400, it names the known one.
    """
    for name in islice(given, _LOOKED_AT):
        if name not in known and (hint := nearest_name(name, known)):
            raise ApiError(400, f"unknown {what} {name[:200]!r}{hint}")
