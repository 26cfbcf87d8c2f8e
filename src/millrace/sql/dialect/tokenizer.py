"""Tokenizer of Flink SQL; each token has its position.

Not sqlglot's tokenizer: it joins words to keywords of its own, which Flink takes as names, and
knows the last column of a token only.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from millrace.sql.errors import SqlParserError
from millrace.sql.position import TextPosition

__all__ = ["BINARY", "END", "NAME", "NUMBER", "SIGN", "STRING", "WORD", "Token", "tokenize"]

WORD, NAME, STRING, BINARY, NUMBER, SIGN, END = (
    "word",
    "name",
    "string",
    "binary",
    "number",
    "sign",
    "end",
)
"""Kinds of tokens; a NAME stands in backticks."""

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|//[^\n]*|/\*(?!\+)(?:[^*]|\*(?!/))*\*/)
    |(?P<string>(?:[uU]&|_[\w\-]+(?=')|[nN](?='))?'(?:[^']|'')*')
    |(?P<binary>[xX]'(?:[^']|'')*')
    |(?P<word>(?:[^\W\d]|\$[\w$])[\w$]*)
    |(?P<name>`(?:[^`]|``)*`)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<sign>/\*\+|\*/|=>|==|<>|!=|::|<=|>=|\|\||\{-|-\}|->|[()\[\]{},;.:+\-*/%=<>?|^$&])
    """,
    re.VERBOSE,
)
_ESCAPED = r"{0}(?:{0}|[0-9a-fA-F]{{4}})|{0}"


class Token(NamedTuple):
    """A token; ``key`` is the sign, or the word in capitals, and empty for other tokens.

    ``value`` is the text of a string or a name without quotes.
    """

    kind: str
    key: str
    value: str
    position: TextPosition

    def shown(self) -> str:
        """Text of the token, as error messages show it."""
        if self.kind == END:
            return "the end of the statement"
        quote = {NAME: "`", STRING: "'", BINARY: "'"}.get(self.kind, "")
        return f"{quote}{self.value[:60]}{quote}" if quote else f"'{self.value[:60]}'"


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, followed by an end token.

    >>> [token.value for token in tokenize("SELECT `a b` -- comment")]
    ['SELECT', 'a b', '']

    Raises:
        SqlParserError: a quote or comment is not closed, or a character has no meaning.
    """
    tokens: list[Token] = []
    offset, line, begin, in_hint = 0, 1, 0, False
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        kind = None if match is None else match.lastgroup
        unclosed = text.startswith("/*", offset) and not text.startswith("/*+", offset)
        if match is None or kind is None or (kind == SIGN and unclosed):
            raise _refused(text, TextPosition(line, offset - begin + 1, offset, offset + 1))
        end, lexeme = match.end(), match.group()
        if kind == SIGN and lexeme in ("/*+", "*/"):
            if lexeme == "*/" and not in_hint:
                end, lexeme = offset + 1, "*"
            else:
                in_hint = lexeme == "/*+"
        if kind != "space":
            position = TextPosition(line, offset - begin + 1, offset, end)
            tokens.append(_token(kind, lexeme, position, text))
        breaks = lexeme.count("\n")
        if breaks:
            line, begin = line + breaks, offset + lexeme.rindex("\n") + 1
        offset = end
    place = TextPosition(line, offset - begin + 1, offset, offset)
    return [*_joined_escapes(tokens, text), Token(END, "", "", place)]


def _token(kind: str, written: str, position: TextPosition, text: str) -> Token:
    if kind == WORD:
        return Token(WORD, written.upper(), written, position)
    if kind == SIGN:
        return Token(SIGN, written, written, position)
    if kind == NAME:
        name = written[1:-1].replace("``", "`")
        if not name:
            raise SqlParserError("a name is empty", text, position)
        return Token(NAME, "", name, position)
    if kind == NUMBER:
        return Token(NUMBER, "", written, position)
    prefix, _, quoted = written.partition("'")
    value = quoted[:-1].replace("''", "'")
    if kind == BINARY and (len(value) % 2 or re.fullmatch("[0-9a-fA-F]*", value) is None):
        raise SqlParserError("X'...' must contain pairs of hexadecimal digits", text, position)
    # the prefix says that escapes follow, which the next token may redefine
    return Token(kind, prefix.upper() if prefix.upper() == "U&" else "", value, position)


def _joined_escapes(tokens: list[Token], text: str) -> list[Token]:
    """The tokens with ``U&`` texts decoded, using the escape character of a ``UESCAPE`` behind
    them."""
    if not any(token.key == "U&" and token.kind == STRING for token in tokens):
        return tokens
    joined: list[Token] = []
    index = 0
    while index < len(tokens):
        token, step, escape = tokens[index], 1, "\\"
        if token.kind == STRING and token.key == "U&":
            following = tokens[index + 1 : index + 3]
            if [part.kind for part in following] == [WORD, STRING] and (
                following[0].key == "UESCAPE"
            ):
                step, escape = 3, following[1].value
            value = _decoded(token, escape, text)
            token = Token(STRING, "", value, token.position.to(tokens[index + step - 1].position))
        joined.append(token)
        index += step
    return joined


def _decoded(token: Token, escape: str, text: str) -> str:
    if len(escape) != 1 or escape in "0123456789abcdefABCDEF+'\" ":
        raise SqlParserError(
            "UESCAPE takes one character, but no hexadecimal digit, quote, + or blank",
            text,
            token.position,
        )

    def character(match: re.Match[str]) -> str:
        code = match.group()[1:]
        if not code:
            reason = f"after {escape} four hexadecimal digits are expected"
            raise SqlParserError(reason, text, token.position)
        return escape if code == escape else chr(int(code, 16))

    decoded = re.sub(_ESCAPED.format(re.escape(escape)), character, token.value)
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _refused(text: str, position: TextPosition) -> SqlParserError:
    sign = text[position.start]
    reasons = {
        "'": "this text has no end: ' is missing",
        "`": "this name has no end: ` is missing",
        '"': "write texts in single quotes ('text') and names in backticks (`name`)",
        "/": "this comment has no end: */ is missing",
    }
    return SqlParserError(
        reasons.get(sign, f"the character {sign!r} has no meaning here"), text, position
    )
