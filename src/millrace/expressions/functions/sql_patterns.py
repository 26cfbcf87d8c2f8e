"""`like_regex` and `similar_regex`: patterns of LIKE and SIMILAR TO as regular expressions.

As in Flink, ``_`` is any character but one that ends a line, and ``%`` any number of characters.
"""

from __future__ import annotations

import re
from functools import lru_cache

from millrace.expressions.evaluation_error import EvaluationError

__all__ = ["like_regex", "similar_regex"]

_ONE = "[^\n\r\x85\u2028\u2029]"
_ANY = "(?s:.*)"
_SPECIAL = "[]()|^-+*_%?{}"
"""Characters that an escape makes plain in SIMILAR TO."""
_SETS = {
    "[:ALPHA:]": "\\p{Alpha}",
    "[:UPPER:]": "\\p{Upper}",
    "[:LOWER:]": "\\p{Lower}",
    "[:DIGIT:]": "\\d",
    "[:SPACE:]": " ",
    "[:WHITESPACE:]": "\\s",
    "[:ALNUM:]": "\\p{Alnum}",
}
_WRONG_INSIDE = frozenset(_SPECIAL) - frozenset("]^-")
_MEANT = {"_": ".", "%": _ANY, "\\": "\\\\", "$": "\\$"}
_LONGEST_SET = max(map(len, _SETS))


def _require_one(escape: str | None) -> None:
    if escape is not None and len(escape) != 1:
        raise EvaluationError(f"Invalid escape character {escape!r}: ESCAPE takes one character")


@lru_cache(maxsize=1024)
def like_regex(pattern: str, escape: str | None = None) -> str:
    """Regular expression of Python and RE2 for a pattern of LIKE, for whole texts.

    Raises:
        EvaluationError: the escape is not one character, or stands before another one.

    >>> like_regex("a.%")
    'a\\\\.(?s:.*)'
    """
    _require_one(escape)
    made: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if escape is not None and character == escape:
            position += 1
            if position == len(pattern) or pattern[position] not in ("%", "_", escape):
                raise EvaluationError(
                    f"LIKE: {pattern!r} has its escape {escape!r} before no % or _"
                )
            made.append(re.escape(pattern[position]))
        else:
            made.append({"%": _ANY, "_": _ONE}.get(character) or re.escape(character))
        position += 1
    return "".join(made)


@lru_cache(maxsize=1024)
def similar_regex(pattern: str, escape: str | None = None) -> str:
    """Java regular expression for a pattern of SIMILAR TO, for whole texts. Characters without a
    meaning in SQL keep their meaning in Java, as in Flink.

    Raises:
        EvaluationError: an escape or a bracket is wrong.

    >>> similar_regex("(a|b)_[[:DIGIT:]]+$")
    '(a|b).[\\\\d]+\\\\$'
    """
    _require_one(escape)
    made: list[str] = []
    position, inside = 0, False
    while position < len(pattern):
        character = pattern[position]
        if character == escape:
            position += 1
            made.append(_plain(pattern, position, escape))
        elif inside:
            begin = pattern[position : position + _LONGEST_SET].upper()
            known = next((key for key in _SETS if begin.startswith(key)), None)
            if known:
                made.append(_SETS[known])
                position += len(known) - 1
            elif character in _WRONG_INSIDE:
                raise _wrong(pattern, position)
            else:
                made.append(character)
                inside = character != "]"
        elif character == "]":
            raise _wrong(pattern, position)
        else:
            inside = character == "["
            made.append(_MEANT.get(character, character))
        position += 1
    if inside:
        raise _wrong(pattern, position)
    return "".join(made)


def _plain(pattern: str, position: int, escape: str) -> str:
    if position == len(pattern) or pattern[position] not in (*_SPECIAL, escape):
        raise EvaluationError(f"{pattern!r} has its escape {escape!r} before no sign of a pattern")
    return re.escape(pattern[position])


def _wrong(pattern: str, position: int) -> EvaluationError:
    return EvaluationError(f"{pattern!r} has a wrong bracket at character {position + 1}")
