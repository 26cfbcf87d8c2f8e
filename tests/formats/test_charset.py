"""Character encodings."""

import io

import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.formats.charset import decode_text, require_line_charset, strip_bom


@pytest.mark.parametrize(
    ("charset", "found"),
    [("utf-8", "utf-8"), ("UTF-8-SIG", "utf-8"), ("latin-1", "latin-1"), ("cp1252", "cp1252")],
)
def test_charsets_with_short_line_feeds(charset: str, found: str) -> None:
    assert require_line_charset(charset) == found


@pytest.mark.parametrize("charset", ["utf-16", "utf-32-le", "klingon"])
def test_others_are_refused(charset: str) -> None:
    with pytest.raises(JobDefinitionError):
        require_line_charset(charset)


def test_bytes_that_do_not_decode_are_shown() -> None:
    with pytest.raises(SerializationError, match=r"not utf-8: b'caf\\xe9'.*'latin-1'"):
        decode_text("café".encode("latin-1"), "utf-8")


@pytest.mark.parametrize(("charset", "left"), [("utf-8", b"a"), ("latin-1", b"\xef\xbb\xbfa")])
def test_a_byte_order_mark_is_skipped_in_utf_8_only(charset: str, left: bytes) -> None:
    stream = io.BufferedReader(io.BytesIO(b"\xef\xbb\xbfa"))
    strip_bom(stream, charset)
    assert stream.read() == left
