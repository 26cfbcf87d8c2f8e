"""Base class of statements, and the query statement."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millrace.sql.position import TextPosition

__all__ = ["Path", "Query", "Statement"]

Path = tuple[str, ...]
"""A name of one to three parts: object; database, object; catalog, database, object."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Base of statements.

    Attributes:
        text: the whole text that was parsed; positions of nodes count from its beginning.
        position: position of the name of the statement's object, or of the statement's first word.
    """

    text: str = field(default="", compare=False, repr=False)
    position: TextPosition | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Query(Statement):
    """A query (SELECT, VALUES, WITH, a set operation), as an `exp.Query` with the dialect's
    nodes."""

    query: exp.Expr
