"""Statements are values: equal whatever text they came from."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from millrace.sql import statements
from millrace.sql.position import TextPosition
from millrace.sql.statements import DropTable, Statement


def test_statements_are_equal_whatever_their_text() -> None:
    """Text and position say where a statement came from, not what it is."""
    one = DropTable(("t",), text="DROP TABLE t", position=TextPosition(1, 12, 11, 12))
    assert one == DropTable(("t",))
    assert one != DropTable(("t",), if_exists=True)
    with pytest.raises(FrozenInstanceError):
        one.path = ("s",)  # type: ignore[misc]


def test_all_statements_are_exported() -> None:
    """Whoever handles statements finds every kind of them in one place."""
    kinds = {kind.__name__ for kind in Statement.__subclasses__()}
    assert kinds <= set(statements.__all__)
    assert statements.__all__ == sorted(statements.__all__)
