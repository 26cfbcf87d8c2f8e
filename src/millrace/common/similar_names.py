"""Suggestions for misspelt names: one measure of likeness and one wording for all messages."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

__all__ = ["LIKENESS", "attribute_hint", "did_you_mean", "likeness_of", "nearest_name"]

LIKENESS = 0.6
"""Least likeness of a name that is suggested, from 0 to 1 (`difflib.SequenceMatcher.ratio`)."""
_LIKENESS_OF_KEYS = 0.8
"""The same for names with points, such as keys of options, whose beginnings are alike."""
_SHORT = 3
_LIKENESS_OF_SHORT = 0.5
"""The same for names of few letters, of which one is wrong."""
_COMPARED = 3
"""Number of similar names that are compared with their upper and lower case."""
_MOST = 200
"""Characters of a name that are compared: the time grows with their square."""
_UNFINISHED = 4
"""Least number of characters of a name that may have been left unfinished."""


def nearest_name(name: str, known: Iterable[str], likeness: float = LIKENESS) -> str | None:
    """The known name that is most like a name, whether in upper or lower case; None if no name is
    similar.

    Args:
        likeness: least likeness. A higher one than `LIKENESS` is for names that are refused only
            because they are similar to a known one.

    Example:
        >>> nearest_name("prise", ["bidder", "price"])
        'price'
        >>> nearest_name("PRICE", ["bidder", "price"])
        'price'
        >>> nearest_name("execution.colour", ["execution.target"])
    """
    if "." in name:
        likeness = max(likeness, _LIKENESS_OF_KEYS)
    elif len(name) <= _SHORT and likeness == LIKENESS:
        likeness = min(likeness, _LIKENESS_OF_SHORT)
    by_lower: dict[str, str] = {}
    for other in known:
        if other != name:
            by_lower.setdefault(other.lower(), other)
    shown = name[:_MOST]
    near = get_close_matches(shown.lower(), by_lower, n=_COMPARED, cutoff=likeness)
    return max(
        (by_lower[lower] for lower in near),
        # the case of letters tells programArg from program-args
        key=lambda other: likeness_of(shown.lower(), other.lower()) + likeness_of(shown, other),
        default=None,
    )


def likeness_of(one: str, other: str) -> float:
    """Likeness of two names, from 0 to 1.

    Example:
        >>> likeness_of("price", "price"), likeness_of("abc", "xyz")
        (1.0, 0.0)
    """
    return SequenceMatcher(None, other, one).ratio()


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """End of a message about an unknown name: a question with the most similar known name.

    A name that was left unfinished means the shortest known name that begins with it.

    Args:
        otherwise: what the message says instead if no name is similar.

    Example:
        >>> did_you_mean("prise", ["bidder", "price"])
        "; did you mean 'price'?"
        >>> did_you_mean("table.exec", ["table.dml-sync", "table.exec.state.ttl"])
        "; did you mean 'table.exec.state.ttl'?"
        >>> did_you_mean("x", ["csv", "json"], "there are csv, json")
        '; there are csv, json'
        >>> did_you_mean("x", ["csv", "json"])
        ''
    """
    names = list(known)
    begun = [other for other in names if other.startswith(name) and other != name]
    if begun and len(name) >= _UNFINISHED:
        near: str | None = min(begun, key=len)
    else:
        near = nearest_name(name, names)
    if near is not None:
        return f"; did you mean {near!r}?"
    return f"; {otherwise}" if otherwise else ""


def attribute_hint(error: BaseException) -> str:
    """Line with the nearest name for a misspelt attribute, as Python 3.12 words it.

    Later versions of Python add the line themselves, so there it is empty, as for all other errors.
    """
    if sys.version_info >= (3, 12) or not isinstance(error, AttributeError):
        return ""
    if not isinstance(error.name, str) or error.obj is None:
        return ""
    try:
        known = [name for name in dir(error.obj) if not name.startswith("_")]
    except Exception:  # the object's own __dir__; what is to be told is the first error
        return ""
    plain = {name.replace("_", "").lower(): name for name in known}
    near = plain.get(error.name.replace("_", "").lower()) or nearest_name(error.name, known)
    return f"Did you mean: {near!r}?\n" if near is not None else ""
