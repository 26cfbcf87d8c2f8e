"""`class_of` and `property_of`: the named sets of characters of ``java.util.regex``."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from millrace.expressions.functions.code_points import (
    CodePoints,
    general_category,
    script,
    where,
)

__all__ = ["class_of", "property_of"]

_DIGITS, _WORD = CodePoints.of("0-9"), CodePoints.of("a-zA-Z0-9_")
_SPACE = CodePoints.of(" \t\n\x0b\f\r")
_HORIZONTAL = CodePoints.of(" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000")
_VERTICAL = CodePoints.of("\n\x0b\f\r\x85\u2028\u2029")
_PUNCTUATION = CodePoints.of("!-/:-@[-`{-~")
_POSIX = {
    "Lower": CodePoints.of("a-z"),
    "Upper": CodePoints.of("A-Z"),
    "ASCII": CodePoints.of("\x00-\x7f"),
    "Alpha": CodePoints.of("a-zA-Z"),
    "Digit": _DIGITS,
    "Alnum": CodePoints.of("a-zA-Z0-9"),
    "Punct": _PUNCTUATION,
    "Graph": CodePoints.of("!-~"),
    "Print": CodePoints.of(" -~"),
    "Blank": CodePoints.of(" \t"),
    "Cntrl": CodePoints.of("\x00-\x1f\x7f"),
    "XDigit": CodePoints.of("0-9a-fA-F"),
    "Space": _SPACE,
    "all": ~CodePoints(),
    "L1": CodePoints.of("\x00-\xff"),
}
_BINARY: dict[str, Callable[[str], bool]] = {
    "alphabetic": str.isalpha,
    "letter": str.isalpha,
    "ideographic": lambda c: "IDEOGRAPH" in unicodedata.name(c, ""),
    "lowercase": str.islower,
    "uppercase": str.isupper,
    "titlecase": str.istitle,
    "white_space": str.isspace,
    "whitespace": str.isspace,
    "digit": str.isdecimal,
    "alnum": lambda c: c.isalpha() or c.isdecimal(),
    "punctuation": lambda c: unicodedata.category(c)[0] == "P",
    "control": lambda c: unicodedata.category(c) == "Cc",
    "assigned": lambda c: unicodedata.category(c) != "Cn",
}
"""Properties behind ``Is``, in any case."""
_OF_JAVA: dict[str, Callable[[str], bool]] = {
    "LowerCase": str.islower,
    "UpperCase": str.isupper,
    "Alphabetic": str.isalpha,
    "Letter": str.isalpha,
    "Digit": str.isdecimal,
    "LetterOrDigit": lambda c: c.isalpha() or c.isdecimal(),
    "Whitespace": lambda c: c.isspace() and c not in "\x85\xa0\u2007\u202f",
    "SpaceChar": lambda c: unicodedata.category(c)[0] == "Z",
    "TitleCase": str.istitle,
    "ISOControl": lambda c: unicodedata.category(c) == "Cc",
    "Defined": lambda c: unicodedata.category(c) != "Cn",
}
"""Methods of ``Character`` behind ``java``."""
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE, "h": _HORIZONTAL, "v": _VERTICAL}
_UNICODE_CLASSES: dict[str, Callable[[str], bool]] = {
    "d": str.isdecimal,
    "w": lambda c: c.isalnum() or c == "_" or unicodedata.category(c) in ("Mn", "Mc", "Me", "Pc"),
    "s": str.isspace,
}


def class_of(letter: str, unicode: bool) -> CodePoints | None:
    """Characters of an escape such as ``\\d``, or ``\\D`` for all others; None for other escapes.

    Args:
        unicode: the flag ``U`` is on.
    """
    small = letter.lower()
    if small not in _CLASSES:
        return None
    wide = _UNICODE_CLASSES.get(small) if unicode else None
    points = where(wide) if wide else _CLASSES[small]
    return points if letter == small else ~points


def property_of(name: str, unicode: bool) -> CodePoints | None:
    """Characters of a property in ``\\p{...}``; None if the property is unknown.

    >>> property_of("XDigit", False).text()
    '0-9A-Fa-f'
    """
    key, equals, value = name.partition("=")
    if equals:
        sought = _SOUGHT.get(key.lower())
        return sought(value) if sought else None
    if name in _POSIX:
        wide = _BINARY.get(_WIDE.get(name, name).lower()) if unicode else None
        return where(wide) if wide else _POSIX[name]
    if name.startswith("java"):
        test = _OF_JAVA.get(name[4:])
        return where(test) if test else None
    if not name.startswith("Is"):
        return general_category(name)
    test = _BINARY.get(name[2:].lower())
    return where(test) if test else general_category(name[2:]) or script(name[2:])


_WIDE = {"Alpha": "alphabetic", "Lower": "lowercase", "Upper": "uppercase", "Punct": "punctuation",
         "Space": "white_space", "Cntrl": "control"}  # fmt: skip
"""Classes that POSIX calls by another name."""
_SOUGHT: dict[str, Callable[[str], CodePoints | None]] = {
    "gc": general_category,
    "general_category": general_category,
    "sc": script,
    "script": script,
}
