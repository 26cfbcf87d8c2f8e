"""String functions that encode, decode and split texts (Flink docs, String)."""

from __future__ import annotations

import base64
import codecs
import re
import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

import pyarrow as pa

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.columns import CallSite, Datum, Frame, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    FunctionResolutionError,
    Signature,
)
from millrace.expressions.functions.java_formatter import (
    FormatError,
    JavaFloat,
    JavaInteger,
    java_format,
)
from millrace.expressions.functions.java_regex import java_pattern
from millrace.expressions.functions.strings import CATEGORY, TEXT, python, string_function
from millrace.expressions.parameters import BYTES
from millrace.expressions.result_types import always, fixed, where_sure
from millrace.expressions.type_merging import common_type

__all__ = ["ENCODINGS"]

_BLANK = re.compile(r"[^\S\x85\xa0\u2007\u202f]")
"""``Character.isWhitespace``."""
_HEX = re.compile(rb"[0-9a-fA-F]*")
_EPOCH = date(1970, 1, 1)
_STRING = always("STRING")
_ONE: tuple[Signature, ...] = ((TEXT,),)
_TWO: tuple[Signature, ...] = ((TEXT, TEXT),)


def _split_index(text: str, separator: Any, index: int) -> str | None:
    if not text:
        return None
    if isinstance(separator, int):
        if not 1 <= separator <= 255:
            return None
        separator = chr(separator)
    # Flink: without a separator it is any blank that separates
    parts = text.split(separator) if separator else _BLANK.split(text)
    return parts[index] if 0 <= index < len(parts) else None


def _split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator and text else list(text)


def _from_base64(text: str) -> str | None:
    """Decoded text, as by Java's decoder, which does not need padding but refuses other
    characters."""
    padded = text if "=" in text else text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded, validate=True).decode("utf-8", "replace")
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _codec(name: str) -> str:
    try:
        known = codecs.lookup("utf-32-be" if name.upper() in ("UTF-32", "UTF32") else name).name
        made = "a".encode(known)  # others take bytes: base64, for example
    except (LookupError, ValueError):
        known, made = "", b""
    if not made or known in _NOT_OF_JAVA:
        raise EvaluationError(f"there is no character set {name!r}; UTF-8 is one")
    return known


_NOT_OF_JAVA = frozenset(
    ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7", "utf-8-sig")
)


def _encoded(text: str, name: str) -> bytes:
    """Encoded bytes of a text; UTF-16 is written as in Java, big-endian with a byte order mark."""
    codec = _codec(name)
    if codec == "utf-16":
        return b"\xfe\xff" + text.encode("utf-16-be", "replace") if text else b""
    return text.encode(codec, "replace")


def _decoded(raw: bytes, name: str) -> str:
    codec = _codec(name)
    if codec == "utf-16" and raw[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        codec = "utf-16-be"
    return raw.decode(codec, "replace")


def _elt(index: int | None, *items: Any) -> Any:
    return items[index - 1] if index is not None and 1 <= index <= len(items) else None


def _elt_type(context: CallContext) -> LogicalType:
    index = context.literals[0] if context.literals else None
    if isinstance(index, int) and index < 0:
        raise FunctionResolutionError(
            f"ELT: the index must be a whole number from 0 on, not {index}"
        )
    kind = common_type(context.types[1:])
    assert kind is not None
    return kind.with_nullable(True)


def _inet_aton(text: str) -> int | None:
    """Number of an IPv4 address, as in MySQL: missing parts are 0 and are inserted before the
    last part."""
    parts = text.split(".")
    if len(parts) > 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    *first, last = map(int, parts)
    numbers = [*first, *[0] * (4 - len(parts)), last]
    return None if max(numbers) > 255 else int.from_bytes(bytes(numbers), "big")


def _inet_ntoa(number: int) -> str | None:
    if not 0 <= number < 2**32:
        return None
    return ".".join(map(str, number.to_bytes(4, "big")))


def _printf(site: CallSite, template: Datum, *items: Datum) -> Datum:
    """Texts of PRINTF. Flink passes its internal values to Java's formatter: a DATE is its
    number of days."""
    makers = [_java_value(kind) for kind in site.argument_types[1:]]

    def printf(text: str | None, *values: Any) -> str | None:
        if text is None:
            return None
        given = [
            None if value is None else make(value)
            for make, value in zip(makers, values, strict=True)
        ]
        try:
            return java_format(text, given)
        except FormatError:
            return None

    return per_value(printf, site.arrow, template, *items, with_nulls=True)


def _java_value(kind: LogicalType) -> Callable[[Any], Any]:
    """Function that converts a value of a type to an argument of `java_format`."""
    if isinstance(kind, logical.IntegralType):
        return lambda value: JavaInteger(value, kind.BITS)
    if isinstance(kind, logical.DateType):
        return lambda value: JavaInteger((value - _EPOCH).days, 32)
    if isinstance(kind, logical.TimeType):
        return lambda value: JavaInteger(
            ((value.hour * 60 + value.minute) * 60 + value.second) * 1000
            + value.microsecond // 1000,
            32,
        )
    if isinstance(kind, logical.YearMonthIntervalType):
        return lambda value: JavaInteger(value, 32)
    if isinstance(kind, logical.DayTimeIntervalType):
        return lambda value: JavaInteger(value // timedelta(milliseconds=1), 64)
    if isinstance(kind, logical.DecimalType):
        return lambda value: f"{value:f}"
    if isinstance(kind, logical.FloatType):
        return JavaFloat
    if isinstance(kind, (logical.TimestampType, logical.LocalZonedTimestampType)):
        return _local_date_time
    if isinstance(kind, BYTES):
        return bytes.hex
    return lambda value: value


def _local_date_time(value: Any) -> str:
    """Java's text of a local date and time, which omits zero seconds and fractions."""
    nanos = 0
    if isinstance(value, int):
        seconds, nanos = divmod(value, 10**9)
        value = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    nanos = nanos or value.microsecond * 1000
    text = f"{value.year:04d}-{value:%m-%dT%H:%M}"
    if value.second or nanos:
        text += f":{value.second:02d}"
    if nanos:
        digits = f"{nanos:09d}"
        while digits.endswith("000"):
            digits = digits[:-3]
        text += f".{digits}"
    return text


def _unhex(text: str) -> bytes | None:
    """Bytes of hexadecimal digits; the first of an odd number of digits becomes a zero byte, as
    in Flink."""
    raw = text.encode()
    if not _HEX.fullmatch(raw):
        return None
    odd = len(raw) % 2
    return (b"\0" if odd else b"") + bytes.fromhex(raw[odd:].decode())


def _hex(value: Any) -> str:
    if isinstance(value, int):
        return f"{value % 2**64:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _ascii(text: str) -> int:
    """First byte of a text, signed as in Java."""
    first = text[:1].encode()[0] if text else 0
    return first - 256 if first > 127 else first


def _chr(code: int) -> str:
    return "" if code < 0 else chr(code % 256)


def _uuid(site: CallSite, frame: Frame) -> Datum:
    return pa.array([str(uuid.uuid4()) for _ in range(frame.length)])


def _str_to_map(text: str, pairs: str = ",", entry: str = "=") -> list[tuple[str, str | None]]:
    """Entries of a text; both delimiters are regular expressions, and a part without the second
    one becomes a key without a value."""
    if not text:
        return []
    values: dict[str, str | None] = {}
    for part in java_pattern(pairs).split(text):
        key, *value = java_pattern(entry).split(part, 2)
        values[key if value else part] = value[0] if value else None
    return list(values.items())


ENCODINGS: tuple[FunctionDefinition, ...] = (
    string_function(
        "ASCII",
        _ONE,
        always("INT"),
        python(_ascii),
        "The code of the first byte, from -128 to 127.",
        ("ASCII('abc')", "97"),
    ),
    string_function(
        "CHR",
        (("BIGINT",),),
        fixed("STRING"),
        python(_chr),
        "The character whose code is the last 8 bits of a number.",
        ("CHR(97)", "a"),
    ),
    string_function(
        "SPLIT_INDEX",
        ((TEXT, TEXT, "INT"), (TEXT, "INT", "INT")),
        fixed("STRING"),
        python(_split_index),
        "The part of a text at a position between separators; 0 is the first.",
        ("SPLIT_INDEX('a,b,c', ',', 1)", "b"),
    ),
    string_function(
        "SPLIT",
        _TWO,
        always("ARRAY<STRING>"),
        python(_split),
        "The parts of a text between separators.",
        ("SPLIT('a,b', ',')", "[a, b]"),
    ),
    string_function(
        "STR_TO_MAP",
        ((TEXT, f"{TEXT}?", f"{TEXT}?"),),
        fixed("MAP<STRING, STRING>"),
        python(_str_to_map),
        "A map of the keys and values in a text; the delimiters are regular expressions of Java.",
        ("STR_TO_MAP('k1=v1,k2=v2')", "{k1=v1, k2=v2}"),
        may_fail=True,
    ),
    string_function(
        "TO_BASE64",
        _ONE,
        _STRING,
        python(lambda text: base64.b64encode(text.encode()).decode()),
        "The bytes of the text in Base64.",
        ("TO_BASE64('hello')", "aGVsbG8="),
    ),
    string_function(
        "FROM_BASE64",
        _ONE,
        where_sure("STRING", lambda text: isinstance(text, str) and _from_base64(text) is not None),
        python(_from_base64),
        "The text that Base64 encodes; NULL if the argument is not valid Base64.",
        ("FROM_BASE64('aGVsbG8=')", "hello"),
    ),
    string_function(
        "ENCODE",
        _TWO,
        always("BYTES"),
        python(_encoded),
        "The bytes of a text in a character set.",
        ("ENCODE('abc', 'UTF-8')", "abc"),
        may_fail=True,
    ),
    string_function(
        "DECODE",
        (("<BINARY_STRING>", TEXT),),
        _STRING,
        python(_decoded),
        "The text of bytes in a character set.",
        ("DECODE(x'616263', 'UTF-8')", "abc"),
        may_fail=True,
    ),
    string_function(
        "ELT",
        (
            ("<INTEGER_NUMERIC>", TEXT, f"{TEXT}*"),
            ("<INTEGER_NUMERIC>", "<BINARY_STRING>", "<BINARY_STRING>*"),
        ),
        _elt_type,
        lambda site, *datums: per_value(_elt, site.arrow, *datums, with_nulls=True),
        "The text, or the bytes, at a position in the list of arguments, from 1.",
        ("ELT(2, 'a', 'b')", "b"),
    ),
    string_function(
        "PRINTF",
        ((TEXT, "<ANY>*"),),
        fixed("STRING"),
        _printf,
        "A text with values in place of %d, %s and similar, as Java's `Formatter` writes "
        "them; NULL where `Formatter` would throw an exception.",
        ("PRINTF('%d %s', 5, 'x')", "5 x"),
    ),
    string_function(
        "INET_ATON",
        _ONE,
        fixed("BIGINT"),
        python(_inet_aton),
        "The number of an IPv4 address; NULL if the text is not such an address.",
        ("INET_ATON('127.0.0.1')", "2130706433"),
        ("INET_ATON('127.1')", "2130706433"),
    ),
    string_function(
        "INET_NTOA",
        (("BIGINT",),),
        fixed("STRING"),
        python(_inet_ntoa),
        "The IPv4 address of a number; NULL if the number has no address.",
        ("INET_NTOA(2130706433)", "127.0.0.1"),
    ),
    string_function(
        "BIN",
        (("BIGINT",),),
        _STRING,
        python(lambda value: f"{value % 2**64:b}"),
        "The integer in binary digits.",
        ("BIN(4)", "100"),
    ),
    string_function(
        "HEX",
        (("BIGINT",), (TEXT,)),
        _STRING,
        python(_hex),
        "The integer, or the bytes of the text, in hexadecimal digits.",
        ("HEX(255)", "FF"),
        ("HEX('abc')", "616263"),
    ),
    string_function(
        "UNHEX",
        _ONE,
        fixed("BYTES"),
        python(_unhex),
        "The bytes of hexadecimal digits.",
        ("UNHEX('616263')", "abc"),
    ),
    FunctionDefinition(
        "UUID",
        ((),),
        fixed("CHAR(36) NOT NULL"),
        _uuid,
        of_batch=True,
        deterministic=False,
        category=CATEGORY,
        text="A random UUID.",
        examples=(("UUID() IS NOT NULL", "TRUE"),),
    ),
)
