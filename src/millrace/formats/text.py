"""Text, a record per line: reading."""

from __future__ import annotations

from millrace.formats.charset import decode_text, require_line_charset
from millrace.formats.stream_format import LineFormat

__all__ = ["TextLineFormat"]


class TextLineFormat(LineFormat[str]):
    """Each line is a record, without its line feed (and the carriage return before it).

    Made by `StreamFormat.text_line_format`. Unlike Flink, bytes that are not valid in the charset
    are an error: replacing them would lose data silently.

    Raises:
        JobDefinitionError: the charset is unknown, or wide such as UTF-16.

    >>> TextLineFormat().decode([b"to be\\n", b"or not\\r\\n", b"\\n", b"to be"])
    ['to be', 'or not', '', 'to be']
    """

    def __init__(self, charset: str = "utf-8") -> None:
        self.charset = require_line_charset(charset)

    def decode(self, lines: list[bytes]) -> list[str]:
        if not lines:
            return []
        texts = decode_text(b"".join(lines), self.charset).split("\n")
        if lines[-1].endswith(b"\n"):
            texts.pop()
        return [text.removesuffix("\r") for text in texts]
