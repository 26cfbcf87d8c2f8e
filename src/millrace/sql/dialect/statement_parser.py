"""`StatementParser`: parser of names, options, comments and other parts that several statements
have."""

from __future__ import annotations

from typing import Any, Never

from millrace.sql.dialect.queries import QueryParser
from millrace.sql.statements import Path

__all__ = ["StatementParser"]


class StatementParser(QueryParser):
    """Reads the parts of statements; a function of another module reads each statement."""

    def path(self, wanted: str = "a name", most: int = 3) -> Path:
        """Parse a name of up to three parts."""
        mark = self.index
        parts = [self.name(wanted)]
        while self.take("."):
            parts.append(self.name("a name after the point"))
        if len(parts) > most:
            parts_are = ("", "", "a database and", "a catalog, a database and")[most]
            raise self.error(f"this name has at most {most} parts: {parts_are} a name", mark)
        return tuple(parts)

    def options(self) -> dict[str, str]:
        """Parse options ``('key' = 'value', ...)``."""
        self.need("(")
        options: dict[str, str] = {}
        while not self.take(")"):
            if options:
                self.need(",")
            mark = self.index
            at = self.token.position
            key = self.string("the key of an option in single quotes")
            self.name_positions.options[key] = at
            if key in options:
                raise self.error(f"the option '{key}' is set twice", mark)
            self.need("=")
            options[key] = self.string("the value of an option in single quotes")
        return options

    def with_options(self) -> dict[str, str]:
        """Parse an optional ``WITH (...)``."""
        return self.options() if self.take("WITH") else {}

    def comment(self) -> str | None:
        """Parse an optional ``COMMENT '...'``."""
        return self.string() if self.take("COMMENT") else None

    def if_not_exists(self) -> bool:
        """Parse an optional ``IF NOT EXISTS``."""
        return self.take("IF", "NOT", "EXISTS")

    def if_exists(self) -> bool:
        """Parse an optional ``IF EXISTS``."""
        return self.take("IF", "EXISTS")

    def origin(self, mark: int) -> dict[str, Any]:
        """Origin of a statement: its text, the position of the name that was read since the mark,
        and the positions of all its names, even those that have not been read yet.
        """
        return {
            "text": self.text,
            "position": self.place(mark),
            "name_positions": self.name_positions,
        }

    def names(self) -> tuple[str, ...]:
        """Parse a list of names ``(a, b)``."""
        return tuple(self.bracketed(self.name))

    def unsupported_object(self, verb: str) -> Never:
        """Refuse an object that Flink supports and Millrace does not."""
        reasons = {
            "MATERIALIZED": (
                "Millrace has no materialized tables: use INSERT INTO, whose job keeps the table "
                "up to date"
            ),
            "CONNECTION": "Millrace has no connections: set the options in the WITH clause of "
            "each table",
        }
        raise self.error(f"{verb} {self.token.key}: {reasons[self.token.key]}")
