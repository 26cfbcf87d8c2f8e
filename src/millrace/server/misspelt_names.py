"""Unknown names in requests that look like known ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from millrace.common.similar_names import nearest_name
from millrace.server.api_route import ApiError

__all__ = ["refuse_misspelt"]

_LIKENESS = 0.8
"""Least likeness to a known name of one that is refused, because other clients' names pass."""
_LOOKED_AT = 100
"""Number of names of a request that are compared. A body has room for 100,000, and other requests
wait meanwhile."""


def refuse_misspelt(given: Iterable[str], known: Sequence[str], what: str) -> None:
    """Refuse names that are probably misspelt. Foreign names pass, because clients of other Flink
    releases send some.

    Raises:
        ApiError: 400, it names the known one.
    """
    for name in islice(given, _LOOKED_AT):
        near = None if name in known else nearest_name(name, known, _LIKENESS)
        if near is not None:
            raise ApiError(400, f"unknown {what} {name[:200]!r}; did you mean {near!r}?")
