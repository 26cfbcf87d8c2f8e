"""Functions of texts. Flink docs, "System (Built-in) Functions": string functions."""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp

from millrace.table.calls.call_builder import CallBuilder, node_of
from millrace.table.syntax import call_node

__all__ = ["TextFunctions"]


class TextFunctions(CallBuilder):
    """Functions of texts and bytes."""

    __slots__ = ()

    def concat(self, other: Any) -> Self:
        """The text with another text appended."""
        return self._call("CONCAT", other)

    def starts_with(self, start_expr: Any) -> Self:
        """Whether the text or the bytes start with others."""
        return self._call("STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Self:
        """Whether the text or the bytes end with others."""
        return self._call("ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Self:
        """The text from a position (from 1), to the end or for a number of characters."""
        return self._call_with("SUBSTRING", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Self:
        """The text from a position (from 1), to the end or for a number of characters."""
        return self._call_with("SUBSTR", begin_index, length)

    def _trimmed(self, where: str, character: Any) -> Self:
        what = node_of(" " if character is None else character)
        return self._made(call_node("TRIM", [exp.Var(this=where), what, self.node]))

    def trim_leading(self, character: Any = None) -> Self:
        """The text without spaces, or another text, at its start."""
        return self._trimmed("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Self:
        """The text without spaces, or another text, at its end."""
        return self._trimmed("TRAILING", character)

    def trim(self, character: Any = None) -> Self:
        """The text without spaces, or another text, at both ends."""
        return self._trimmed("BOTH", character)

    def ltrim(self, trim_str: Any = None) -> Self:
        """The text without spaces, or some characters, at its start."""
        return self._call_with("LTRIM", trim_str)

    def rtrim(self, trim_str: Any = None) -> Self:
        """The text without spaces, or some characters, at its end."""
        return self._call_with("RTRIM", trim_str)

    def btrim(self, trim_str: Any = None) -> Self:
        """The text without spaces, or some characters, at both ends."""
        return self._call_with("BTRIM", trim_str)

    def replace(self, search: Any, replacement: Any) -> Self:
        """The text with each occurrence of a text replaced by another."""
        return self._call("REPLACE", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Self:
        """The text with some characters replaced by others."""
        return self._call("TRANSLATE", from_str, to_str)

    @property
    def char_length(self) -> Self:
        """Number of characters."""
        return self._call("CHAR_LENGTH")

    @property
    def upper_case(self) -> Self:
        """The text in upper case."""
        return self._call("UPPER")

    @property
    def lower_case(self) -> Self:
        """The text in lower case."""
        return self._call("LOWER")

    @property
    def init_cap(self) -> Self:
        """The text with each word capitalised."""
        return self._call("INITCAP")

    def like(self, pattern: Any, escape: Any = None) -> Self:
        """Whether the text matches a pattern of ``%`` for any text and ``_`` for any character."""
        made = exp.Like(this=self.node, expression=node_of(pattern))
        if escape is None:
            return self._made(made)
        return self._made(exp.Escape(this=made, expression=node_of(escape)))

    def similar(self, pattern: Any) -> Self:
        """Whether the text matches a regular expression of SQL."""
        return self._made(exp.SimilarTo(this=self.node, expression=node_of(pattern)))

    def position(self, haystack: Any) -> Self:
        """Position of the text's first occurrence in another text, from 1; 0 if there is none."""
        return self._call("POSITION", haystack)

    def lpad(self, length: Any, pad: Any) -> Self:
        """The text padded on the left to a length, or cut to it."""
        return self._call("LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Self:
        """The text padded on the right to a length, or cut to it."""
        return self._call("RPAD", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Self:
        """The text with another text in place of its characters from a position (from 1)."""
        return self._call_with("OVERLAY", new_string, starting, length)

    def regexp(self, regex: Any) -> Self:
        """Whether a part of the text matches a Java regular expression."""
        return self._call("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Self:
        """Number of matches of a regular expression."""
        return self._call("REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Self:
        """The text with each match of a regular expression replaced."""
        return self._call("REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Self:
        """The first match of a regular expression, or a group of the match."""
        return self._call_with("REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Self:
        """All matches of a regular expression, or a group of each match."""
        return self._call_with("REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Self:
        """Position of the first match of a regular expression, from 1; 0 if there is none."""
        return self._call("REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Self:
        """The first match of a regular expression."""
        return self._call("REGEXP_SUBSTR", regex)

    @property
    def from_base64(self) -> Self:
        """The text decoded from Base64."""
        return self._call("FROM_BASE64")

    @property
    def to_base64(self) -> Self:
        """The text encoded in Base64."""
        return self._call("TO_BASE64")

    @property
    def ascii(self) -> Self:
        """Code of the first character."""
        return self._call("ASCII")

    @property
    def chr(self) -> Self:
        """The character whose code is this number."""
        return self._call("CHR")

    def decode(self, charset: Any) -> Self:
        """The text of bytes in a character set."""
        return self._call("DECODE", charset)

    def encode(self, charset: Any) -> Self:
        """The bytes of a text in a character set."""
        return self._call("ENCODE", charset)

    def left(self, length: Any) -> Self:
        """The first characters of the text."""
        return self._call("LEFT", length)

    def right(self, length: Any) -> Self:
        """The last characters of the text."""
        return self._call("RIGHT", length)

    def instr(self, s: Any) -> Self:
        """Position of another text's first occurrence in the text, from 1; 0 if there is none."""
        return self._call("INSTR", s)

    def locate(self, s: Any, pos: Any = None) -> Self:
        """Position of the text's first occurrence in another text, from a start position; 0 if
        there is none."""
        return self._call_with("LOCATE", s, pos)

    def url_decode(self) -> Self:
        """The text decoded from URL encoding."""
        return self._call("URL_DECODE")

    def url_encode(self) -> Self:
        """The text in URL encoding."""
        return self._call("URL_ENCODE")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Self:
        """A part of a URL: HOST, PATH, QUERY, ..."""
        return self._call_with("PARSE_URL", part_to_extract, key)

    def inet_aton(self) -> Self:
        """An IPv4 address as a number."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Self:
        """A number as an IPv4 address."""
        return self._call("INET_NTOA")

    def printf(self, *obj: Any) -> Self:
        """Values formatted by this text, a format of Java."""
        return self._call("PRINTF", *obj)

    def repeat(self, n: Any) -> Self:
        """The text repeated a number of times."""
        return self._call("REPEAT", n)

    @property
    def reverse(self) -> Self:
        """The text in reverse order."""
        return self._call("REVERSE")

    def split(self, delimiter: Any) -> Self:
        """The parts of the text between delimiters."""
        return self._call("SPLIT", delimiter)

    def split_index(self, separator: Any, index: Any) -> Self:
        """The part of the text between separators at a position, from 0."""
        return self._call("SPLIT_INDEX", separator, index)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Self:
        """The map in a text such as ``a=1,b=2``."""
        return self._call_with("STR_TO_MAP", list_delimiter, key_value_delimiter)

    def elt(self, expr: Any, *exprs: Any) -> Self:
        """The argument that this number selects, counted from 1."""
        return self._call("ELT", expr, *exprs)

    @property
    def md5(self) -> Self:
        """MD5 hash, in hexadecimal digits."""
        return self._call("MD5")

    @property
    def sha1(self) -> Self:
        """SHA-1 hash, in hexadecimal digits."""
        return self._call("SHA1")

    @property
    def sha224(self) -> Self:
        """SHA-224 hash, in hexadecimal digits."""
        return self._call("SHA224")

    @property
    def sha256(self) -> Self:
        """SHA-256 hash, in hexadecimal digits."""
        return self._call("SHA256")

    @property
    def sha384(self) -> Self:
        """SHA-384 hash, in hexadecimal digits."""
        return self._call("SHA384")

    @property
    def sha512(self) -> Self:
        """SHA-512 hash, in hexadecimal digits."""
        return self._call("SHA512")

    def sha2(self, hash_length: Any) -> Self:
        """SHA-2 hash of 224, 256, 384 or 512 bits, in hexadecimal digits."""
        return self._call("SHA2", hash_length)
