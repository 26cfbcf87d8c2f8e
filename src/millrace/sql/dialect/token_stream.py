"""`TokenStream`: the tokens of a statement, and what is expected where they are refused."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import chain
from typing import TypeVar

from sqlglot import exp

from millrace.sql.dialect.reserved_words import RESERVED
from millrace.sql.dialect.tokenizer import END, NAME, NUMBER, STRING, WORD, Token, tokenize
from millrace.sql.errors import SqlParserError
from millrace.sql.position import TextPosition

__all__ = ["MAX_CHAIN", "MAX_DEPTH", "TokenStream"]

MAX_DEPTH = 100
"""How deep queries, expressions and tables may be nested."""
MAX_CHAIN = 200
"""How many operators, joins or set operations may follow each other, but AND and OR."""
MAX_LISTED = 6
"""How many alternatives an error lists."""
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
"""Words that nobody means as a name."""
_Node = TypeVar("_Node", bound=exp.Expr)


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

    def advance(self) -> Token:
        """Go past the next token, and give it."""
        passed = self.token
        if passed.kind != END:
            self.index += 1
            self.token = self._tokens[self.index]
            self._asked_before, self._asked = self._asked, []
        return passed

    def peek(self, distance: int = 1) -> Token:
        """A token further on."""
        return self._tokens[min(self.index + distance, len(self._tokens) - 1)]

    def at(self, *keys: str) -> bool:
        """Whether one of these words or signs is next."""
        if self.token.key in keys:
            return True
        self._asked.append(keys)
        return False

    def at_all(self, *keys: str) -> bool:
        """Whether these come next, one after the other."""
        if not self.at(keys[0]):
            return False
        return len(keys) == 1 or all(
            self.peek(number).key == key for number, key in enumerate(keys)
        )

    def at_end(self) -> bool:
        """Whether the text ends here."""
        return self.token.kind == END

    @property
    def start(self) -> TextPosition:
        """Where the text begins."""
        return self._tokens[0].position

    def take(self, *keys: str) -> bool:
        """Go past these, one after the other, if all come next."""
        if self.token.key != keys[0]:
            self._asked.append(keys[:1])
            return False
        if not self.at_all(*keys):
            return False
        for _ in keys:
            self.advance()
        return True

    def take_one(self, *keys: str) -> str | None:
        """Go past the one of these that is next, and give it."""
        return self.advance().key if self.at(*keys) else None

    def need(self, *keys: str) -> None:
        """Go past these, one after the other.

        Raises:
            SqlParserError: something else is next.
        """
        for key in keys:
            if not self.at(key):
                raise self.unexpected()
            self.advance()

    def need_one(self, *keys: str) -> str:
        """Go past the one of these that is next, and give it."""
        found = self.take_one(*keys)
        if found is None:
            raise self.unexpected()
        return found

    def at_name(self) -> bool:
        """Whether a name is next: in backticks, or a word that is not reserved."""
        return self.token.kind == NAME or (
            self.token.kind == WORD and self.token.key not in RESERVED
        )

    def identifier(self, wanted: str = "a name") -> exp.Identifier:
        """The name that is next."""
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
        node = exp.Identifier(this=token.value, quoted=token.kind == NAME)
        return self.placed(node, mark)

    def name(self, wanted: str = "a name") -> str:
        """The name that is next, as text."""
        return str(self.identifier(wanted).this)

    def string(self, wanted: str = "a text in single quotes") -> str:
        """The text that is next."""
        if self.token.kind != STRING:
            raise self.unexpected(wanted)
        return self.advance().value

    def number(self, wanted: str = "a whole number") -> int:
        """The whole number that is next."""
        if self.token.kind != NUMBER or not self.token.value.isdecimal():
            raise self.unexpected(wanted)
        if len(self.token.value) > 18:
            raise self.error("this number is too large here")
        return int(self.advance().value)

    def at_query(self, distance: int = 0) -> bool:
        """Whether a query is next, in brackets or without; ``(SELECT 1) + 1`` is none."""
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
        """The token after the bracket that closes the one that is next."""
        closing = self._closing.get(self.index)
        return self._tokens[-1 if closing is None else closing + 1]

    def placed(self, node: _Node, mark: int) -> _Node:
        """The node, which stands from the token with index ``mark`` up to here."""
        first, last = self._tokens[mark].position, self._tokens[max(mark, self.index - 1)].position
        node.meta.update(line=first.line, col=first.column, start=first.start, end=last.end)
        return node

    def place(self, mark: int) -> TextPosition:
        """From the token with index ``mark`` up to here."""
        last = self._tokens[max(mark, self.index - 1)].position
        return self._tokens[mark].position.to(last)

    def written(self, mark: int) -> str:
        """The text from the token with index ``mark`` up to here."""
        place = self.place(mark)
        return self.text[place.start : place.end]

    def enter(self) -> None:
        """One level deeper; `leave` ends it.

        Raises:
            SqlParserError: it is nested too deeply.
        """
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"this is nested in more than {MAX_DEPTH} others")

    def check_chain(self, length: int, what: str) -> None:
        """Refuse chains that make trees too deep to be walked.

        Raises:
            SqlParserError: it is longer than `MAX_CHAIN`.
        """
        if length > MAX_CHAIN:
            raise self.error(f"more than {MAX_CHAIN} {what} follow each other: use brackets")

    def leave(self) -> None:
        """One level up."""
        self._depth -= 1

    def error(self, reason: str, mark: int | None = None) -> SqlParserError:
        """An error at the next token, or from a mark up to here."""
        place = self.token.position if mark is None else self.place(mark)
        return SqlParserError(reason, self.text, place)

    def unexpected(self, wanted: str = "") -> SqlParserError:
        """The error that the next token is none of those that may stand here."""
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
    """The word that a misspelt one may stand for, or nothing."""
    words = sorted(set(chain(*asked)))
    near = get_close_matches(token.key, words, 1, 0.7) if token.kind == WORD else []
    return near[0] if near and near[0] != token.key else ""


def _closing(tokens: list[Token]) -> dict[int, int]:
    """Of each opening bracket its closing one, by their indexes."""
    opened: list[int] = []
    found: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.key == "(":
            opened.append(index)
        elif token.key == ")" and opened:
            found[opened.pop()] = index
    return found
