"""Parser of types in statements: ``CAST(x AS ROW<a INT>)``, columns of CREATE TABLE."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.parser import parse_type
from millrace.sql.dialect.nodes import TypeName
from millrace.sql.dialect.token_stream import TokenStream
from millrace.sql.dialect.tokenizer import END, NAME, STRING, WORD, Token
from millrace.sql.errors import SqlParserError

__all__ = ["TypeParser"]

_UNBOUNDED = {"VARCHAR": "STRING", "VARBINARY": "BYTES"}
"""Types without a length, as statements name them; in the API such types have one sign."""
_TIME_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


class TypeParser(TokenStream):
    """Finds the end of a type; `parse_type` parses the type itself."""

    def type(self) -> LogicalType:
        """Parse a type, with an optional ``NOT NULL``.

        Raises:
            SqlParserError: the text is not a type of Flink.
        """
        mark = self.index
        if self.token.kind != WORD:
            raise self.unexpected("a type")
        self._skip_type()
        text = " ".join(map(self._type_text, range(mark, self.index)))
        try:
            return parse_type(text)
        except JobDefinitionError as problem:
            raise SqlParserError(str(problem), self.text, self.place(mark)) from None

    def _type_text(self, index: int) -> str:
        token, following = self._tokens[index], self._tokens[index + 1]
        if token.kind == WORD and following.key != "(":
            return _UNBOUNDED.get(token.key, token.value)
        return _token_text(token)

    def type_name(self) -> TypeName:
        """Parse a type as a node."""
        mark = self.index
        return self.placed(TypeName(this=self.type()), mark)

    def _skip_type(self) -> None:
        word = self.advance().key
        if word == "INTERVAL":
            self._skip_unit()
            if self.take("TO"):
                self._skip_unit()
        self.take_one("PRECISION", "VARYING")
        if self.at("("):
            self._skip_brackets("(", ")")
        elif self.at("<>"):
            self.advance()
        elif self.at("<"):
            self._skip_brackets("<", ">")
        if word in ("TIME", "TIMESTAMP"):
            with_zone = self.at_all("WITH", "TIME") or self.at_all("WITH", "LOCAL")
            if with_zone or self.at_all("WITHOUT", "TIME"):
                self.advance()
                self.take("LOCAL")
                self.need("TIME", "ZONE")
        self._skip_nullability()
        while self.take_one("ARRAY", "MULTISET"):
            self._skip_nullability()

    def _skip_nullability(self) -> None:
        # NULL ON EMPTY, in JSON_VALUE, is a clause behind the type
        if not self.take("NOT", "NULL") and self.peek().key != "ON":
            self.take("NULL")

    def _skip_unit(self) -> None:
        self.need_one(*_TIME_UNITS)
        if self.at("("):
            self._skip_brackets("(", ")")

    def _skip_brackets(self, opening: str, closing: str) -> None:
        depth = 0
        while True:
            if self.token.kind == END or self.at(";"):
                raise self.unexpected(f"{closing}, which ends the type,")
            key = self.advance().key
            depth += (key == opening) - (key == closing)
            if depth == 0:
                return


def _token_text(token: Token) -> str:
    if token.kind == NAME:
        return "`" + token.value.replace("`", "``") + "`"
    if token.kind == STRING:
        return "'" + token.value.replace("'", "''") + "'"
    return token.value
