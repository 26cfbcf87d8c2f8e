"""`TokenStream`: the tokens of a statement, with the tokens to suggest in an error."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TypeVar

from sqlglot import exp

from millrace.common.similar_names import nearest_name
from millrace.sql.dialect.reserved_words import RESERVED
from millrace.sql.dialect.tokenizer import END, NAME, NUMBER, STRING, WORD, Token, tokenize
from millrace.sql.errors import SqlParserError
from millrace.sql.position import NamePositions, TextPosition

__all__ = ["MAX_CHAIN", "MAX_DEPTH", "TokenStream"]

MAX_DEPTH = 100
"""Maximum nesting depth of queries, expressions and tables."""
MAX_CHAIN = 200
"""Maximum number of consecutive operators, joins or set operations, except AND and OR."""
MAX_LISTED = 6
"""Maximum number of alternatives that an error lists."""
_KEYWORD_LIKENESS = 0.7
"""Least likeness of a keyword that is suggested: many are short, and names may be anything."""
_QUERY_WORDS = frozenset({"SELECT", "VALUES", "WITH", "TABLE"})
_AFTER_QUERY = frozenset(
    {")", ";", "", "UNION", "INTERSECT", "EXCEPT", "MINUS", "ORDER", "LIMIT", "OFFSET", "FETCH"}
)
_CLAUSES = frozenset(
    {
        *("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "LIMIT", "UNION", "ON", "AS"),
        *("AND", "OR", "THEN", "ELSE", "END", "WHEN", "INSERT", "CREATE", "SET", "WITH", "JOIN"),
    }
)
"""Words that a user hardly means as a name."""
_Node = TypeVar("_Node", bound=exp.Expr)
_Item = TypeVar("_Item")


class TokenStream:
    """Reads tokens from left to right.

    Words that were asked for at a place and not found are what an error there says was expected.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokenize(text)
        self._closing = _closing(self._tokens)
        self.index = 0
        self.token = self._tokens[0]
        self._asked: list[tuple[str, ...]] = []
        self._asked_before: list[tuple[str, ...]] = []
        self._depth = 0
        self.name_positions = NamePositions()

    def advance(self) -> Token:
        """Consume the next token, and return it."""
        passed = self.token
        if passed.kind != END:
            self.index += 1
            self.token = self._tokens[self.index]
            self._asked_before, self._asked = self._asked, []
        return passed

    def peek(self, distance: int = 1) -> Token:
        """The token at a distance from the next one."""
        return self._tokens[min(self.index + distance, len(self._tokens) - 1)]

    def token_at(self, mark: int) -> Token:
        """The token with index ``mark``."""
        return self._tokens[mark]

    def at(self, *keys: str) -> bool:
        """Whether the next token is one of the given words or signs."""
        if self.token.key in keys:
            return True
        self._asked.append(keys)
        return False

    def at_all(self, *keys: str) -> bool:
        """Whether the next tokens are the given words or signs, in order."""
        if not self.at(keys[0]):
            return False
        return len(keys) == 1 or all(
            self.peek(number).key == key for number, key in enumerate(keys)
        )

    def at_end(self) -> bool:
        """Whether all tokens have been read."""
        return self.token.kind == END

    @property
    def start(self) -> TextPosition:
        """Position of the first token."""
        return self._tokens[0].position

    def take(self, *keys: str) -> bool:
        """Consume the given words or signs if all of them come next, in order; return whether they
        did."""
        if self.token.key != keys[0]:
            self._asked.append(keys[:1])
            return False
        if not self.at_all(*keys):
            return False
        for _ in keys:
            self.advance()
        return True

    def take_one(self, *keys: str) -> str | None:
        """Consume the next token if it is one of the given words or signs, and return its key;
        otherwise return None."""
        return self.advance().key if self.at(*keys) else None

    def need(self, *keys: str) -> None:
        """Consume the given words or signs, in order; raise if they do not come next.

        Raises:
            SqlParserError: something else is next.
        """
        for key in keys:
            if not self.at(key):
                raise self.unexpected()
            self.advance()

    def need_one(self, *keys: str) -> str:
        """Consume the next token, which must be one of the given words or signs, and return its
        key."""
        key = self.take_one(*keys)
        if key is None:
            raise self.unexpected()
        return key

    def at_name(self) -> bool:
        """Whether the next token is a name: in backticks, or a word that is not reserved."""
        return self.token.kind == NAME or (
            self.token.kind == WORD and self.token.key not in RESERVED
        )

    def identifier(self, wanted: str = "a name") -> exp.Identifier:
        """Consume a name."""
        if not self.at_name():
            if self.token.kind == WORD and self.token.key not in _CLAUSES:
                word = self.token.value
                raise self.error(
                    f"{wanted} is expected, and {word} is a reserved word: write `{word}` in "
                    "backticks if it is a name"
                )
            raise self.unexpected(wanted)
        mark = self.index
        token = self.advance()
        self.name_positions.note_name(token.value, token.position)
        node = exp.Identifier(this=token.value, quoted=token.kind == NAME)
        return self.placed(node, mark)

    def name(self, wanted: str = "a name") -> str:
        """Consume a name, and return it as text."""
        return str(self.identifier(wanted).this)

    def string(self, wanted: str = "a text in single quotes") -> str:
        """Consume a text in quotes."""
        if self.token.kind != STRING:
            raise self.unexpected(wanted)
        token = self.advance()
        self.name_positions.note_text(token.value, token.position)
        return token.value

    def number(self, wanted: str = "a whole number") -> int:
        """Consume a whole number."""
        if self.token.kind != NUMBER or not self.token.value.isdecimal():
            raise self.unexpected(wanted)
        if len(self.token.value) > 18:
            raise self.error("this number is too large here")
        return int(self.advance().value)

    def listed(self, item: Callable[[], _Item]) -> list[_Item]:
        """Parse one or more items separated by commas."""
        items = [item()]
        while self.take(","):
            items.append(item())
        return items

    def bracketed(self, item: Callable[[], _Item]) -> list[_Item]:
        """Parse one or more items in parentheses, separated by commas."""
        self.need("(")
        items = self.listed(item)
        self.need(")")
        return items

    def at_query(self, distance: int = 0) -> bool:
        """Whether a query is next, in brackets or without; ``(SELECT 1) + 1`` is not a query."""
        index = self.index + distance
        brackets = 0
        while self._tokens[index].key == "(":
            index, brackets = index + 1, brackets + 1
            if brackets > MAX_DEPTH:
                return False
        if self._tokens[index].key not in _QUERY_WORDS:
            return False
        if self._tokens[index].key == "TABLE" and self._tokens[index + 1].key == "(":
            return False
        while brackets > 1:
            # what follows the inner query says whether it is a value in a larger expression
            index, brackets = index - 1, brackets - 1
            closing = self._closing.get(self.index + distance + brackets)
            if closing is None or self._tokens[closing + 1].key not in _AFTER_QUERY:
                return False
        return True

    def after_brackets(self) -> Token:
        """The token after the closing bracket that belongs to the opening bracket at the next
        token.
        """
        closing = self._closing.get(self.index)
        return self._tokens[-1 if closing is None else closing + 1]

    def placed(self, node: _Node, mark: int) -> _Node:
        """The node with its position: from the token with index ``mark`` up to the last token
        read."""
        first, last = self._tokens[mark].position, self._tokens[max(mark, self.index - 1)].position
        node.meta.update(line=first.line, col=first.column, start=first.start, end=last.end)
        return node

    def place(self, mark: int) -> TextPosition:
        """Position from the token with index ``mark`` up to the last token read."""
        last = self._tokens[max(mark, self.index - 1)].position
        return self._tokens[mark].position.to(last)

    def written(self, mark: int) -> str:
        """Text from the token with index ``mark`` up to the last token read."""
        place = self.place(mark)
        return self.text[place.start : place.end]

    def enter(self) -> None:
        """Enter a nested level; `leave` leaves it.

        Raises:
            SqlParserError: the statement is nested too deeply.
        """
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"this is nested in more than {MAX_DEPTH} others")

    def check_chain(self, length: int, what: str) -> None:
        """Refuse a chain of operators whose tree would be too deep for recursion.

        Raises:
            SqlParserError: the chain is longer than `MAX_CHAIN`.
        """
        if length > MAX_CHAIN:
            raise self.error(f"more than {MAX_CHAIN} {what} follow each other: use brackets")

    def leave(self) -> None:
        """Leave a nested level."""
        self._depth -= 1

    def error(self, reason: str, mark: int | None = None) -> SqlParserError:
        """The error for the next token, or for the text from a mark up to the last token read."""
        place = self.token.position if mark is None else self.place(mark)
        return SqlParserError(reason, self.text, place)

    def unexpected(self, wanted: str = "") -> SqlParserError:
        """The error that the next token is not allowed here."""
        shown = self.token.shown()
        near = _nearest(self.token, self._asked)
        if near:
            return self.error(f"{shown} is not expected here; did you mean {near}?")
        before = self._tokens[max(0, self.index - 1)]
        near = "" if before.key in RESERVED else _nearest(before, self._asked_before)
        if near:
            # a misspelt word was taken for a name
            reason = f"{shown} is not expected after {before.value}; did you mean {near}?"
            return SqlParserError(reason, self.text, before.position)
        return self.error(f"{shown} is not expected here{self._expected(wanted)}")

    def _expected(self, wanted: str) -> str:
        if wanted:
            return f"; {wanted} is expected"
        words = sorted(set(chain(*self._asked)))
        if len(words) > MAX_LISTED:
            words = [word for word in words if word in (")", "]")]
        if not words:
            return ""
        *others, last = words
        return f"; {', '.join(others) + ' or ' if others else ''}{last} is expected"


def _nearest(token: Token, asked: list[tuple[str, ...]]) -> str:
    """The expected word that is nearest to a misspelt one; an empty text if none is near."""
    if token.kind != WORD:
        return ""
    return nearest_name(token.key, sorted(set(chain(*asked))), _KEYWORD_LIKENESS) or ""


def _closing(tokens: list[Token]) -> dict[int, int]:
    """Index of the closing bracket for the index of each opening bracket."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.key == "(":
            opened.append(index)
        elif token.key == ")" and opened:
            closing[opened.pop()] = index
    return closing
