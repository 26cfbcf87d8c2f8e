"""Division of typed text or a file into statements."""

from __future__ import annotations

import re

__all__ = ["divided", "heading"]

_PIECE = re.compile(
    r"""(?P<skip>--[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|'(?:[^']|'')*'|`(?:[^`]|``)*`)
    |(?P<open>'|`|/\*)
    |(?P<word>[^\W\d][\w$]*)
    |(?P<end>;)""",
    re.VERBOSE,
)
_COMMENT = re.compile(r"\s+|--[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_CONTENT = re.compile(r"\(|=|--|/\*|\b(AS|WITH)\b", re.IGNORECASE)
_LONGEST = 100
"""Characters of a heading."""
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
    bare = (_without_leading_comments(statement) for statement in statements)
    return [statement for statement in bare if statement], _without_leading_comments(text[begin:])


def heading(statement: str) -> str:
    """Beginning of a statement, up to the part that may be long or secret: the declaration or the
    value.

    Example:
        >>> heading("CREATE TABLE t (id INT) WITH ('connector' = 'print')")
        'CREATE TABLE t'
        >>> heading("CREATE VIEW v AS SELECT 1"), heading("SET 'a' = 'b'")
        ('CREATE VIEW v', "SET 'a'")
    """
    begin = _CONTENT.search(statement)
    text = " ".join(statement[: begin.start() if begin else None].split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _without_leading_comments(text: str) -> str:
    offset = 0
    while comment := _COMMENT.match(text, offset):
        offset = comment.end()
    return text[offset:].rstrip()
