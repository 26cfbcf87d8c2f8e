"""Semicolons end statements, except in texts, comments and statement sets."""

from __future__ import annotations

import pytest

from millrace.cli.sql_client.statement_texts import divided


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("", [], ""),
        (";;", [], ""),
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1; -- done;\n", ["SELECT 1"], ""),
        ("-- first; not\nSELECT 'a;''b'; SELECT `c;d`;", ["SELECT 'a;''b'", "SELECT `c;d`"], ""),
        ("SELECT 'open;", [], "SELECT 'open;"),
        ("SELECT /* ; */ 1;", ["SELECT /* ; */ 1"], ""),
        (
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END; x",
            ["EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END"],
            "x",
        ),
        ("BEGIN STATEMENT SET; INSERT INTO a SELECT 1;", [], None),
    ],
)
def test_divided(text: str, statements: list[str], rest: str | None) -> None:
    assert divided(text) == (statements, text if rest is None else rest)
