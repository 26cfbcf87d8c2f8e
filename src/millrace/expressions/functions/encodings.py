"""String functions that encode, decode and take texts apart (Flink docs, String)."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import uuid
from typing import Any

import pyarrow as pa

from millrace.expressions.columns import CallSite, Datum, Frame, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionDefinition, Signature
from millrace.expressions.functions.strings import CATEGORY, TEXT, python, string_function
from millrace.expressions.result_types import always, fixed

__all__ = ["ENCODINGS"]

_STRING = always("STRING")
_ONE: tuple[Signature, ...] = ((TEXT,),)
_TWO: tuple[Signature, ...] = ((TEXT, TEXT),)


def _split_index(text: str, separator: Any, index: int) -> str | None:
    if not text:
        return None
    if isinstance(separator, int):
        separator = chr(separator)
    # Flink: without a separator it is any blank that separates
    parts = text.split(separator) if separator else re.split(r"\s", text)
    return parts[index] if 0 <= index < len(parts) else None


def _split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator and text else list(text)


def _from_base64(text: str) -> str | None:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except binascii.Error:
        return None


def _codec(name: str) -> str:
    try:
        return codecs.lookup("utf-16-be" if name.upper() == "UTF-16" else name).name
    except LookupError:
        raise EvaluationError(f"there is no character set {name!r}; UTF-8 is one") from None


def _elt(index: int, *items: Any) -> Any:
    return items[index - 1] if 1 <= index <= len(items) else None


def _inet_aton(text: str) -> int | None:
    """MySQL's: what is missing of four parts is 0 and stands before the last one."""
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


def _printf(template: str, *items: Any) -> str | None:
    try:
        return template.replace("%n", "\n") % items
    except (TypeError, ValueError):
        return None


def _unhex(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text)
    except ValueError:
        return None


def _hex(value: Any) -> str:
    if isinstance(value, int):
        return f"{value % 2**64:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _chr(code: int) -> str:
    return "" if code < 0 else chr(code % 256)


def _uuid(site: CallSite, frame: Frame) -> Datum:
    return pa.array([str(uuid.uuid4()) for _ in range(frame.length)])


def _str_to_map(text: str, pairs: str = ",", entry: str = "=") -> list[tuple[str, str | None]]:
    found: dict[str, str | None] = {}
    for each in text.split(pairs):
        key, _, value = each.partition(entry)
        found[key] = value if _ else None
    return list(found.items())


ENCODINGS: tuple[FunctionDefinition, ...] = (
    string_function(
        "ASCII",
        _ONE,
        always("INT"),
        python(lambda text: text.encode()[0] if text else 0),
        "The number of the first character.",
        ("ASCII('abc')", "97"),
    ),
    string_function(
        "CHR",
        (("BIGINT",),),
        fixed("STRING"),
        python(_chr),
        "The character of a number, of its last 8 bits.",
        ("CHR(97)", "a"),
    ),
    string_function(
        "SPLIT_INDEX",
        ((TEXT, TEXT, "INT"), (TEXT, "INT", "INT")),
        fixed("STRING"),
        python(_split_index),
        "A part of a text between separators; 0 is the first.",
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
        "A map of keys and values in a text.",
        ("STR_TO_MAP('k1=v1,k2=v2')", "{k1=v1, k2=v2}"),
    ),
    string_function(
        "TO_BASE64",
        _ONE,
        _STRING,
        python(lambda text: base64.b64encode(text.encode()).decode()),
        "The bytes of the text in base 64.",
        ("TO_BASE64('hello')", "aGVsbG8="),
    ),
    string_function(
        "FROM_BASE64",
        _ONE,
        _STRING,
        python(_from_base64),
        "The text of base 64.",
        ("FROM_BASE64('aGVsbG8=')", "hello"),
    ),
    string_function(
        "ENCODE",
        _TWO,
        always("BYTES"),
        python(lambda text, name: text.encode(_codec(name), "replace")),
        "The bytes of a text in a character set.",
        ("ENCODE('abc', 'UTF-8')", "abc"),
        may_fail=True,
    ),
    string_function(
        "DECODE",
        (("<BINARY_STRING>", TEXT),),
        _STRING,
        python(lambda raw, name: raw.decode(_codec(name), "replace")),
        "The text of bytes in a character set.",
        ("DECODE(x'616263', 'UTF-8')", "abc"),
        may_fail=True,
    ),
    string_function(
        "ELT",
        (("<INTEGER_NUMERIC>", TEXT, f"{TEXT}*"),),
        lambda c: c.types[1].with_nullable(True),
        lambda site, *datums: per_value(_elt, site.arrow, *datums, with_nulls=True),
        "The text of a number, from 1, in a list.",
        ("ELT(2, 'a', 'b')", "b"),
    ),
    string_function(
        "PRINTF",
        ((TEXT, "<ANY>*"),),
        fixed("STRING"),
        python(_printf),
        "A text with values in the places of %d, %s and their kin.",
        ("PRINTF('%d %s', 5, 'x')", "5 x"),
    ),
    string_function(
        "INET_ATON",
        _ONE,
        fixed("BIGINT"),
        python(_inet_aton),
        "The number of an IPv4 address; NULL if the text is none.",
        ("INET_ATON('127.0.0.1')", "2130706433"),
        ("INET_ATON('127.1')", "2130706433"),
    ),
    string_function(
        "INET_NTOA",
        (("BIGINT",),),
        fixed("STRING"),
        python(_inet_ntoa),
        "The IPv4 address of a number; NULL if there is none of it.",
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
