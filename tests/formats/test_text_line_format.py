"""Text lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import SerializationError
from millrace.formats import StreamFormat, TextLineFormat


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"))))
def test_lines_are_what_was_between_line_feeds(lines: list[str]) -> None:
    encoded = [f"{line}\n".encode() for line in lines]
    assert TextLineFormat().decode(encoded) == lines


def test_only_line_feeds_end_lines() -> None:
    line = "a\x0b\u2028b\x85c\rd"
    assert TextLineFormat().decode([f"{line}\r\n".encode()]) == [line]


def test_other_charsets() -> None:
    assert StreamFormat.text_line_format("latin-1").decode([b"caf\xe9\n"]) == ["café"]


def test_wrong_bytes_are_an_error() -> None:
    with pytest.raises(SerializationError, match="not utf-8"):
        TextLineFormat().decode([b"ok\n", b"\xff\n"])
