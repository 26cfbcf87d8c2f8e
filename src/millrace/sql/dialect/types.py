"""Parser of types in statements: ``CAST(x AS ROW<a INT>)``, columns of CREATE TABLE.

The functions find the end of a type; `parse_type` of the room ``common`` parses the type itself.
"""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.parser import parse_type
from millrace.sql.dialect.nodes import TypeName
from millrace.sql.dialect.token_stream import TokenStream
from millrace.sql.dialect.tokenizer import END, NAME, STRING, WORD, Token
from millrace.sql.errors import SqlParserError

__all__ = ["parse_data_type", "parse_type_name"]

_UNBOUNDED = {"VARCHAR": "STRING", "VARBINARY": "BYTES"}
"""Types without a length, as statements name them; in the API such types have one sign."""
_TIME_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def parse_data_type(tokens: TokenStream) -> LogicalType:
    """Parse a type, with an optional ``NOT NULL``.

    Raises:
        SqlParserError: the text is not a type of Flink.
    """
    mark = tokens.index
    if tokens.token.kind != WORD:
        raise tokens.unexpected("a type")
    _skip_type(tokens)
    text = " ".join(_type_text(tokens, index) for index in range(mark, tokens.index))
    try:
        return parse_type(text)
    except JobDefinitionError as problem:
        raise SqlParserError(str(problem), tokens.text, tokens.place(mark)) from None


def _type_text(tokens: TokenStream, index: int) -> str:
    token, following = tokens.token_at(index), tokens.token_at(index + 1)
    if token.kind == WORD and following.key != "(":
        return _UNBOUNDED.get(token.key, token.value)
    return _token_text(token)


def parse_type_name(tokens: TokenStream) -> TypeName:
    """Parse a type as a node."""
    mark = tokens.index
    return tokens.placed(TypeName(this=parse_data_type(tokens)), mark)


def _skip_type(tokens: TokenStream) -> None:
    word = tokens.advance().key
    if word == "INTERVAL":
        _skip_unit(tokens)
        if tokens.take("TO"):
            _skip_unit(tokens)
    tokens.take_one("PRECISION", "VARYING")
    if tokens.at("("):
        _skip_brackets(tokens, "(", ")")
    elif tokens.at("<>"):
        tokens.advance()
    elif tokens.at("<"):
        _skip_brackets(tokens, "<", ">")
    if word in ("TIME", "TIMESTAMP"):
        with_zone = tokens.at_all("WITH", "TIME") or tokens.at_all("WITH", "LOCAL")
        if with_zone or tokens.at_all("WITHOUT", "TIME"):
            tokens.advance()
            tokens.take("LOCAL")
            tokens.need("TIME", "ZONE")
    _skip_nullability(tokens)
    while tokens.take_one("ARRAY", "MULTISET"):
        _skip_nullability(tokens)


def _skip_nullability(tokens: TokenStream) -> None:
    # NULL ON EMPTY, in JSON_VALUE, is a clause behind the type
    if not tokens.take("NOT", "NULL") and tokens.peek().key != "ON":
        tokens.take("NULL")


def _skip_unit(tokens: TokenStream) -> None:
    tokens.need_one(*_TIME_UNITS)
    if tokens.at("("):
        _skip_brackets(tokens, "(", ")")


def _skip_brackets(tokens: TokenStream, opening: str, closing: str) -> None:
    depth = 0
    while True:
        if tokens.token.kind == END or tokens.at(";"):
            raise tokens.unexpected(f"{closing}, which ends the type,")
        key = tokens.advance().key
        depth += (key == opening) - (key == closing)
        if depth == 0:
            return


def _token_text(token: Token) -> str:
    if token.kind == NAME:
        return "`" + token.value.replace("`", "``") + "`"
    if token.kind == STRING:
        return "'" + token.value.replace("'", "''") + "'"
    return token.value
