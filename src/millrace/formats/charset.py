"""Character encodings: checks of their names, decoding, byte order marks."""

from __future__ import annotations

import codecs
from io import BufferedReader

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.formats.malformed_record import MalformedRecordError

__all__ = ["decode_text", "require_charset", "require_line_charset", "strip_bom"]


def require_charset(charset: str) -> str:
    """The charset, if Python supports it.

    Raises:
        JobDefinitionError: Python does not support the charset.
    """
    try:
        codecs.lookup(charset)
    except LookupError:
        raise JobDefinitionError(
            f"{charset!r} is not a character encoding that Python knows; use for example 'utf-8'"
        ) from None
    return charset


def require_line_charset(charset: str) -> str:
    """The charset, if its line feed is the single byte 0x0A. Only then can files be split at lines.

    Raises:
        JobDefinitionError: Python does not know it, or it is a wide one such as UTF-16.
    """
    if "\n".encode(require_charset(charset)).removeprefix(codecs.BOM_UTF8) != b"\n":
        raise JobDefinitionError(
            f"files in {charset} cannot be read line by line, because their line feeds are longer "
            "than one byte; convert them to UTF-8 first"
        )
    return "utf-8" if _is_utf8(charset) else charset


def decode_text(data: bytes, charset: str) -> str:
    """Decoded text; an error names the invalid bytes.

    Raises:
        MalformedRecordError: the bytes are not valid in the charset.
    """
    try:
        return data.decode(charset)
    except UnicodeDecodeError as error:
        near = data[max(0, error.start - 20) : error.start + 20]
        raise MalformedRecordError(
            f"bytes that are not {charset}: {near!r}. Name the encoding of the file, for example "
            "charset 'latin-1'",
            column=error.start + 1,
        ) from None


def strip_bom(stream: BufferedReader, charset: str) -> None:
    """Skip a byte order mark at the beginning of a UTF-8 stream.

    Raises:
        SerializationError: the byte order mark is that of UTF-16.
    """
    if stream.tell() > 0 or not _is_utf8(charset):
        return
    mark = stream.peek(3)[:3]
    if mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise SerializationError(
            "the file begins with the byte order mark of UTF-16, but is to be read as UTF-8: "
            "convert it first"
        )
    if mark == codecs.BOM_UTF8:
        stream.read(3)


def _is_utf8(charset: str) -> bool:
    return codecs.lookup(charset).name in ("utf-8", "utf-8-sig")
