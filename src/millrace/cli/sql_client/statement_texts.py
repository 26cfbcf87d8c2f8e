"""Division of typed text or a file into statements."""

from __future__ import annotations

import re

__all__ = ["divided"]

_PIECE = re.compile(
    r"""(?P<skip>--[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|'(?:[^']|'')*'|`(?:[^`]|``)*`)
    |(?P<open>'|`|/\*)
    |(?P<word>[^\W\d][\w$]*)
    |(?P<end>;)""",
    re.VERBOSE,
)
_COMMENT = re.compile(r"\s+|--[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_SET_BEGINS = (["STATEMENT", "SET", "BEGIN"], ["BEGIN", "STATEMENT", "SET"])


def divided(text: str) -> tuple[list[str], str]:
    """The statements that a semicolon ends, and the text after the last one.

    The semicolons of a statement set belong to it.

    Example:
        >>> divided("SELECT ';'; USE a; SELECT 1")
        (["SELECT ';'", 'USE a'], 'SELECT 1')
        >>> divided("BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END; USE a;")[0]
        ['BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END', 'USE a']
    """
    statements: list[str] = []
    begin, words, in_set = 0, list[str](), False
    for piece in _PIECE.finditer(text):
        if piece["open"]:
            break
        if piece["word"]:
            words = [*words[-2:], piece["word"].upper()]
            in_set = in_set or words in _SET_BEGINS
        elif piece["end"] and not (in_set and words[-1:] != ["END"]):
            statements.append(text[begin : piece.start()])
            begin, words, in_set = piece.end(), [], False
    found = (_without_leading_comments(statement) for statement in statements)
    return [statement for statement in found if statement], _without_leading_comments(text[begin:])


def _without_leading_comments(text: str) -> str:
    offset = 0
    while comment := _COMMENT.match(text, offset):
        offset = comment.end()
    return text[offset:].rstrip()
