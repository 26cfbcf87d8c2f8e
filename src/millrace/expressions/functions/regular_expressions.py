"""Functions of regular expressions, Java's, and of URLs (Flink docs, String)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from millrace.expressions.columns import CallSite, Datum, is_scalar, per_value
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.functions.java_regex import (
    JavaPattern,
    PatternSyntaxError,
    java_pattern,
)
from millrace.expressions.functions.strings import TEXT, python, string_function
from millrace.expressions.functions.utf16 import code_units
from millrace.expressions.result_types import always, fixed

__all__ = ["REGULAR_EXPRESSIONS"]

_WRONG_PERCENT = re.compile("%(?![0-9a-fA-F]{2})")


def _guarded(function: Callable[..., Any], otherwise: Any = None) -> Callable[..., Any]:
    """Null, or something else, where the pattern or the number of a group is wrong, as in Flink."""

    def guarded(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (PatternSyntaxError, IndexError):
            return otherwise

    return guarded


def _constant(text: Datum, pattern: Datum) -> JavaPattern | None:
    """The pattern that all texts of a column are searched for."""
    if is_scalar(text) or not is_scalar(pattern) or not pattern.is_valid or not pattern.as_py():
        return None
    try:
        return java_pattern(pattern.as_py())
    except PatternSyntaxError:
        return None


def _has(text: str, pattern: str) -> bool:
    return bool(pattern and java_pattern(pattern).search(text))


def _regexp(site: CallSite, text: Datum, pattern: Datum) -> Datum:
    found = _constant(text, pattern)
    if found is not None and found.linear is not None:
        try:
            return pc.match_substring_regex(text, found.linear)
        except pa.ArrowInvalid:  # it is too large for RE2
            pass
    return per_value(_guarded(_has, False), site.arrow, text, pattern)


def _replace(text: str, pattern: str, new: str) -> str:
    return java_pattern(pattern).replaced(text, new)


def _regexp_replace(site: CallSite, text: Datum, pattern: Datum, new: Datum) -> Datum:
    found = _constant(text, pattern)
    if found is not None and found.replaces and is_scalar(new) and new.is_valid:
        try:
            kept = new.as_py().replace("\\", "\\\\")
            return pc.replace_substring_regex(text, found.linear, kept)
        except pa.ArrowInvalid:
            pass
    return per_value(_guarded(_replace), site.arrow, text, pattern, new)


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    found = java_pattern(pattern).search(text)
    return found[_known(found, group)] if found else None


def _extract_all(text: str, pattern: str, group: int = 1) -> list[str | None]:
    known = java_pattern(pattern)
    if group > known.compiled.groups:
        raise IndexError(group)
    return [found[_known(found, group)] for found in known.matches(text)]


def _known(found: re.Match[str], group: int) -> int:
    if group < 0:
        raise IndexError(group)
    return group


def _count(text: str, pattern: str) -> int:
    return sum(1 for _ in java_pattern(pattern).matches(text))


def _instr(text: str, pattern: str) -> int:
    found = java_pattern(pattern).search(text)
    return code_units(text[: found.start()]) + 1 if found else 0


def _url_part(url: str, part: str, key: str | None = None) -> str | None:
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError:
        return None
    if not found.scheme:
        return None
    if part == "QUERY" and key is not None:
        for each in found.query.split("&"):
            name, equals, value = each.partition("=")
            if equals and name == key:
                return value
        return None
    query = f"?{found.query}" if found.query else ""
    user, at, _ = found.netloc.rpartition("@")
    host = re.sub(r":\d*$", "", found.netloc.rpartition("@")[2]) if port else None
    return {
        "HOST": host or found.hostname,
        "PATH": found.path,
        "QUERY": found.query or None,
        "REF": found.fragment or None,
        "PROTOCOL": found.scheme,
        "AUTHORITY": found.netloc or None,
        "FILE": found.path + query,
        "USERINFO": user if at else None,
    }.get(part)


def _decoded(text: str) -> str | None:
    """As ``URLDecoder``: bytes that are no UTF-8 become U+FFFD, and a wrong % is an error."""
    return None if _WRONG_PERCENT.search(text) else unquote_plus(text, errors="replace")


_TWO = ((TEXT, TEXT),)
_URL = "'http://u@host:80/p?x=1#R'"

REGULAR_EXPRESSIONS: tuple[FunctionDefinition, ...] = (
    string_function(
        "REGEXP",
        _TWO,
        always("BOOLEAN"),
        _regexp,
        "Whether a part of the text matches a regular expression of Java; an empty or wrong one: "
        "never.",
        ("REGEXP('abc', 'b')", "TRUE"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_REPLACE",
        ((TEXT, TEXT, TEXT),),
        always("STRING"),
        _regexp_replace,
        "The text with each match replaced; the new text is taken as it is. NULL if the regular "
        "expression is wrong.",
        ("REGEXP_REPLACE('foobar', 'oo|ar', '')", "fb"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_EXTRACT",
        ((TEXT, TEXT, "INT?"),),
        fixed("STRING"),
        python(_guarded(_extract)),
        "A group of the first match; 0 is all of it.",
        ("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)", "bar"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_EXTRACT_ALL",
        ((TEXT, TEXT, "INT?"),),
        fixed("ARRAY<STRING>"),
        python(_guarded(_extract_all)),
        "A group of each match; 1 unless told.",
        ("REGEXP_EXTRACT_ALL('a1b2', '([a-z])([0-9])', 2)", "[1, 2]"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_COUNT",
        _TWO,
        fixed("INT"),
        python(_guarded(_count)),
        "How many matches there are.",
        ("REGEXP_COUNT('aXbXc', 'X')", "2"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_INSTR",
        _TWO,
        fixed("INT"),
        python(_guarded(_instr)),
        "Where the first match is, from 1; 0: nowhere.",
        ("REGEXP_INSTR('abcabc', 'c')", "3"),
        may_fail=True,
    ),
    string_function(
        "REGEXP_SUBSTR",
        _TWO,
        fixed("STRING"),
        python(_guarded(_extract)),
        "The first match.",
        ("REGEXP_SUBSTR('abc123', '[0-9]+')", "123"),
        may_fail=True,
    ),
    string_function(
        "PARSE_URL",
        ((TEXT, TEXT, f"{TEXT}?"),),
        fixed("STRING"),
        python(_url_part),
        "HOST, PATH, QUERY (or a key of it), REF, PROTOCOL, AUTHORITY, FILE or USERINFO of a URL.",
        (f"PARSE_URL({_URL}, 'HOST')", "host"),
    ),
    string_function(
        "URL_ENCODE",
        ((TEXT,),),
        fixed("STRING"),
        python(lambda text: quote_plus(text, safe="*-._")),
        "The text as a form in a URL has it.",
        ("URL_ENCODE('a b&c')", "a+b%26c"),
    ),
    string_function(
        "URL_DECODE",
        ((TEXT,),),
        fixed("STRING"),
        python(_decoded),
        "The text of what URL_ENCODE made.",
        ("URL_DECODE('a+b%26c')", "a b&c"),
    ),
)
