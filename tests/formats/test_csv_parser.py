"""Batches of records that are parsed at once are those that are parsed one by one."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.formats.csv_parser import CsvParser
from millrace.formats.csv_schema import CsvDialect
from millrace.formats.line_blocks import bounded_lines
from millrace.formats.malformed_record import MalformedRecordError

PLAIN = CsvDialect()
DIALECTS = [
    PLAIN,
    replace(PLAIN, quote_char=None),
    replace(PLAIN, escape_char="\\"),
    replace(PLAIN, quote_char="'", column_separator="|"),
    replace(PLAIN, quote_char=None, escape_char="\\"),
]
contents = st.text("ab,|'\"\\\r\n\n\n", max_size=40)


def outcome(content: str, dialect: CsvDialect, counts: list[int]) -> list[Any]:
    """What each batch gives, and what is passed over."""
    stream = io.BufferedReader(io.BytesIO(content.encode()))  # type: ignore[arg-type]
    parser = CsvParser(dialect, "utf-8", bounded_lines(stream), 0, __file__)
    found: list[Any] = []
    for number in range(60):
        count = counts[number % len(counts)]
        try:
            rows = parser.rows(count)
        except MalformedRecordError as error:
            if count > 1:
                parser.go_back()
                try:
                    rows = parser.rows(1)
                except MalformedRecordError as single:
                    found.append(parser.pass_over(single, whole=False).raw)
                    continue
            else:
                found.append(parser.pass_over(error, whole=False).raw)
                continue
        if rows is None:
            break
        parser.accept()
        found += [*rows, parser.position]
    return found


@settings(deadline=None)
@given(
    content=contents,
    dialect=st.sampled_from(DIALECTS),
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=4),
)
def test_all_at_once_or_one_by_one(content: str, dialect: CsvDialect, counts: list[int]) -> None:
    at_once = outcome(content, dialect, counts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(CsvParser, "_parsed", lambda *_: None)
        assert at_once == outcome(content, dialect, counts)
