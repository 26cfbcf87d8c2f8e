"""Errors of catalogs: what does not exist, what exists already, with the nearest name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from millrace.common.errors import JobDefinitionError

__all__ = ["CatalogError", "already_exists", "not_found"]


class CatalogError(JobDefinitionError):
    """A catalog has no such object, or has it already. Flink: ``CatalogException`` and kin."""


def not_found(kind: str, name: object, names: Iterable[str]) -> CatalogError:
    """The error of a name that is not there.

    >>> str(not_found("table", "ordres", ["orders", "users"]))
    "there is no table ordres; did you mean 'orders'?"
    """
    known = list(names)
    last = str(name).replace("`", "").rpartition(".")[2]
    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(last.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        hint = f"; did you mean {by_lower[near[0]]!r}?"
    elif known:
        hint = f"; there are {', '.join(sorted(known)[:20])}"
    else:
        hint = "; there are none"
    return CatalogError(f"there is no {kind} {name}{hint}")


def already_exists(kind: str, name: object) -> CatalogError:
    """The error of a name that is taken."""
    return CatalogError(
        f"there is a {kind} {name} already; drop it, take another name, or say IF NOT EXISTS"
    )
