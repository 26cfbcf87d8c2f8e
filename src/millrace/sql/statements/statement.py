"""Base class of statements, and the query statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from millrace.sql.position import NamePositions, OptionPosition, TextPosition

__all__ = ["Path", "Query", "Statement"]

Path = tuple[str, ...]
"""A name of one to three parts: object; database, object; catalog, database, object."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Base of statements.

    Attributes:
        text: the whole text that was parsed; positions of nodes count from its beginning.
        position: position of the name of the statement's object, or of the statement's first word.
        name_positions: positions of all names in the statement.
    """

    text: str = field(default="", compare=False, repr=False)
    position: TextPosition | None = field(default=None, compare=False, repr=False)
    name_positions: NamePositions = field(default_factory=NamePositions, compare=False, repr=False)

    def place_of(self, name: str) -> TextPosition | None:
        """Position of a name in the statement: that of the statement's object if it has this name,
        or else that of an equal name or text.
        """
        at = self.position
        written = "" if at is None else self.text[at.start : at.end].replace("`", "")
        is_object = written.rpartition(".")[2].strip().lower() == name.lower()
        return at if is_object else self.name_positions.get(name)

    def option_places(self, keys: Iterable[str], table: str) -> dict[str, OptionPosition]:
        """Places of the table options that the statement sets, by their keys."""
        positions = self.name_positions.options
        return {
            key: OptionPosition(table, self.text, positions[key])
            for key in keys
            if key in positions
        }


@dataclass(frozen=True)
class Query(Statement):
    """A query (SELECT, VALUES, WITH, a set operation), as an `exp.Query` with the dialect's
    nodes."""

    query: exp.Expr
