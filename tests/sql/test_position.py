"""Places in the text of a statement, and how they are shown."""

from __future__ import annotations

import pickle

from sqlglot import exp

from millrace.common.errors import MillraceError
from millrace.sql.errors import SqlParserError
from millrace.sql.position import TextPosition, excerpt, position_of, source_text

TEXT = "SELECT a,\n\tb FORM t"
FORM = TextPosition(2, 4, 13, 17)


def test_an_excerpt_shows_the_line_with_carets() -> None:
    """Tabs stay tabs, so that the carets stand below the word."""
    assert excerpt(TEXT, FORM) == "\tb FORM t\n\t  ^^^^"


def test_an_excerpt_at_the_end_has_one_caret() -> None:
    """The end of the text is a place too."""
    assert excerpt("SELECT", TextPosition(1, 7, 6, 6)) == "SELECT\n      ^"


def test_long_lines_are_cut_around_the_place() -> None:
    """Nobody reads a line of ten thousand characters."""
    text = "x" * 5000 + " here " + "y" * 5000
    line, carets = excerpt(text, TextPosition(1, 5002, 5001, 5005)).split("\n")
    assert len(line) == 160
    assert line[carets.index("^") :].startswith("here")
    assert carets.count("^") == 4


def test_pieces_of_several_lines_are_underlined_in_the_first() -> None:
    """Carets end with the line."""
    assert excerpt("a +\nb", TextPosition(1, 1, 0, 5)) == "a +\n^^^"


def test_a_node_without_a_place_stands_where_its_parent_does() -> None:
    """Rules make nodes; what they are made of has a place."""
    parent = exp.Not(this=exp.Boolean(this=True))
    assert position_of(parent.this) is None
    parent.meta.update(line=2, col=4, start=13, end=17)
    assert position_of(parent.this) == FORM
    assert source_text(parent.this, TEXT) == "FORM"


def test_a_parser_error_tells_line_and_column_and_survives_pickling() -> None:
    """It crosses from servers to clients."""
    error = pickle.loads(pickle.dumps(SqlParserError("no such word", TEXT, FORM)))
    assert isinstance(error, MillraceError)
    assert (error.line, error.column, error.reason) == (2, 4, "no such word")
    assert str(error) == "line 2, column 4: no such word\n\tb FORM t\n\t  ^^^^"
