"""String functions (Flink docs, "System (Built-in) Functions", String)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import TrimSide, option
from millrace.expressions.columns import CallSite, Datum, is_scalar, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    Signature,
    documented,
)
from millrace.expressions.functions.utf16 import in_code_units
from millrace.expressions.parameters import CHARACTERS, NUMBERS
from millrace.expressions.result_types import always, argument, fixed, forced_nullable, varying

__all__ = ["CATEGORY", "STRINGS", "TEXT", "python", "require_length", "string_function"]

CATEGORY = "String"
TEXT = "<CHARACTER_STRING>"
_BLANKS = "".join(map(chr, range(33)))
_JAVA_DOUBLE = re.compile(
    r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
    r"|0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?)",
    re.ASCII,
)
LONGEST = 2**26
"""Characters of a text that a function makes of a short one and a number."""
Kernel = Callable[..., Datum]


def python(function: Callable[..., Any]) -> Kernel:
    """Kernel that calls a Python function once for each distinct value; NULL for NULL."""
    return lambda site, *datums: per_value(function, site.arrow, *datums)


def _substring(site: CallSite, text: Datum, start: Datum, length: Datum | None = None) -> Datum:
    fixed_start = is_scalar(start) and start.is_valid
    fixed_length = length is None or (is_scalar(length) and length.is_valid)
    if fixed_start and fixed_length and start.as_py() >= 0:
        first = max(start.as_py() - 1, 0)
        if length is None:
            return pc.utf8_slice_codeunits(text, first)
        if length.as_py() >= 0:
            return pc.utf8_slice_codeunits(text, first, first + length.as_py())
    arguments = (text, start) if length is None else (text, start, length)
    return per_value(_substring_of, site.arrow, *arguments)


def _substring_of(text: str, start: int, length: int | None = None) -> str | None:
    """The substring as in Flink: positions count from 1, 0 means 1, negative ones count from the
    end; NULL for a negative length."""
    if length is not None and length < 0:
        return None
    first = start - 1 if start > 0 else (0 if start == 0 else len(text) + start)
    if first < 0 or first >= len(text):
        return ""
    return text[first:] if length is None else text[first : first + length]


def _trim(site: CallSite, first: Datum, text: Datum | None = None) -> Datum:
    """Trimmed texts; in a call of TRIM the characters stand before the text."""
    side = option(TrimSide, site.options) or TrimSide.BOTH
    return _trimmed(site, side, first) if text is None else _trimmed(site, side, text, first)


def _trim_at(side: TrimSide) -> Kernel:
    return lambda site, *datums: _trimmed(site, side, *datums)


def _trimmed(site: CallSite, side: TrimSide, text: Datum, characters: Datum | None = None) -> Datum:
    plain, strip = _TRIMS[side]
    if characters is None or (is_scalar(characters) and characters.is_valid):
        return plain(text, " " if characters is None else characters.as_py())
    return per_value(strip, site.arrow, text, characters)


_TRIMS: dict[TrimSide, tuple[Callable[[Datum, str], Datum], Callable[[str, str], str]]] = {
    TrimSide.BOTH: (pc.utf8_trim, str.strip),
    TrimSide.LEADING: (pc.utf8_ltrim, str.lstrip),
    TrimSide.TRAILING: (pc.utf8_rtrim, str.rstrip),
}


def _concat(site: CallSite, *texts: Datum) -> Datum:
    if pa.types.is_binary(site.arrow):  # BINARY(n) are bytes of one length
        texts = tuple(text.cast(site.arrow) for text in texts)
    return pc.binary_join_element_wise(*texts, pa.scalar("", site.arrow))


def _joined(kind: LogicalType) -> int:
    return int(getattr(kind, "length", logical.MAX_LENGTH))


def _bars_type(context: CallContext) -> LogicalType:
    """Type of ``||``: for two CHARs a CHAR of the added lengths."""
    left, right = context.types
    length = min(_joined(left) + _joined(right), logical.MAX_LENGTH)
    texts = (logical.CharType, logical.VarCharType)
    if isinstance(left, texts):
        both = isinstance(left, logical.CharType) and isinstance(right, logical.CharType)
        made: Any = logical.CharType if both else logical.VarCharType
    else:
        made = logical.VarBinaryType
    kind: LogicalType = made(length, nullable=context.any_nullable)
    return kind


def _concat_ws(site: CallSite, separator: Datum, *texts: Datum) -> Datum:
    if all(map(is_scalar, (separator, *texts))):
        present = [text.as_py() for text in texts if text.is_valid]
        return pa.scalar(
            separator.as_py().join(present) if separator.is_valid else None, site.arrow
        )
    nothing = pa.scalar("", pa.string())
    first, *others = texts or (nothing,)
    if first.null_count if not is_scalar(first) else not first.is_valid:
        # where no text is left, Arrow's kernel leaves out the row
        none = reduce(pc.and_, map(pc.is_null, texts))
        first = pc.if_else(none, nothing, first)
    if is_scalar(separator) and not separator.is_valid:
        return separator
    return pc.binary_join_element_wise(first, *others, separator, null_handling="skip")


def _changed_case(ascii_only: Callable[[Datum], Datum], full: Callable[[str], str]) -> Kernel:
    """Kernel that changes the case; beyond ASCII a letter may become two, which only Python
    supports, not Arrow."""

    def kernel(site: CallSite, text: Datum) -> Datum:
        plain = pc.string_is_ascii(text)
        whole = plain.as_py() if is_scalar(text) else pc.all(plain).as_py()
        return per_value(full, site.arrow, text) if whole is False else ascii_only(text)

    return kernel


def _initcap(text: str) -> str:
    made, begins = [], True
    for character in text:
        made.append(character.upper() if begins else character.lower())
        begins = not character.isalnum()
    return "".join(made)


def _position(needle: str, text: str, start: int = 1) -> int:
    # Flink: an empty text is found at the beginning, wherever the search begins
    return text.find(needle, max(start - 1, 0) if needle else 0) + 1


def require_length(length: int) -> None:
    """Raise if a text of this length would be too long.

    Raises:
        EvaluationError: it would take the memory of the process.
    """
    if length > LONGEST:
        raise EvaluationError(
            f"a text of {length} characters is too long: the maximum is {LONGEST}"
        )


def _repeated(text: str, count: int) -> str:
    require_length(len(text) * count)
    return text * max(count, 0)


def _padded(left: bool) -> Callable[..., str | None]:
    def pad(text: str, length: int, filler: str) -> str | None:
        if length < 0 or not filler:
            return None
        require_length(length)
        missing = max(length - len(text), 0)
        fill = (filler * (missing // len(filler) + 1))[:missing]
        return fill + text if left and missing else (text + fill)[:length]

    return in_code_units(pad)


def _padded_type(context: CallContext) -> LogicalType:
    """STRING; NOT NULL only if length and filler are constants that give a value."""
    length, filler = (*context.literals, None, None, None)[1:3]
    gives_value = isinstance(length, int) and length >= 0 and isinstance(filler, str) and filler
    return logical.VarCharType(nullable=context.any_nullable or not gives_value)


def _overlay(text: str, new: str, start: int, length: int | None = None) -> str:
    count = len(new) if length is None else length
    if start <= 0 or start > len(text):
        return text
    end = start - 1 + count
    return text[: start - 1] + new + (text[end:] if end >= 0 else "")


def _translate(text: str | None, old: str | None, new: str | None) -> str | None:
    """The text with characters replaced or, if they have no replacement, removed; nothing
    changes if ``old`` is NULL."""
    if text is None or not old:
        return text
    table: dict[int, str | None] = {}
    for position, character in enumerate(old):
        instead = new[position] if new is not None and position < len(new) else None
        table.setdefault(ord(character), instead)
    return text.translate(table)


def _is_of(numbers: tuple[type[LogicalType], ...], test: Callable[[str], bool]) -> Kernel:
    """Kernel that tests texts; values of the types in ``numbers`` always pass, values of other
    types never."""

    def kernel(site: CallSite, value: Datum) -> Datum:
        if isinstance(site.argument_types[0], CHARACTERS):
            passing = per_value(
                lambda v: v is not None and test(v), pa.bool_(), value, with_nulls=True
            )
            return passing
        passes = isinstance(site.argument_types[0], numbers)
        return pc.is_valid(value) if passes else pa.scalar(False)

    return kernel


def _in_plane(test: Callable[[str], bool]) -> Callable[[str], bool]:
    """The test, false for characters beyond the first plane: Java looks at UTF-16 units, which
    are no letters or digits there."""
    return lambda text: test(text) and max(text) <= "\uffff"


def _is_number(text: str) -> bool:
    """Whether Java's ``Integer``, ``Long`` or ``Double`` can parse the text."""
    if _JAVA_DOUBLE.fullmatch(text.strip(_BLANKS)):
        return True
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isdecimal() and -(2**63) <= int(text) < 2**63


string_function = partial(documented, CATEGORY)


_STRING = always("STRING")
_ONE: tuple[Signature, ...] = ((TEXT,),)
_TWO: tuple[Signature, ...] = ((TEXT, TEXT),)

_PAIRS: tuple[Signature, ...] = (*_TWO, ("<BINARY_STRING>", "<BINARY_STRING>"))

STRINGS: tuple[FunctionDefinition, ...] = (
    string_function(
        "||",
        _PAIRS,
        _bars_type,
        _concat,
        "Two texts as one.",
        ("'a' || 'b'", "ab"),
    ),
    string_function(
        "CHAR_LENGTH",
        _ONE,
        always("INT"),
        lambda site, text: pc.utf8_length(text),
        "The number of characters.",
        ("CHAR_LENGTH('hello')", "5"),
    ),
    string_function(
        "UPPER",
        _ONE,
        argument(0),
        _changed_case(pc.ascii_upper, str.upper),
        "The text in upper case.",
        ("UPPER('aBc')", "ABC"),
    ),
    string_function(
        "LOWER",
        _ONE,
        argument(0),
        _changed_case(pc.ascii_lower, str.lower),
        "The text in lower case.",
        ("LOWER('aBc')", "abc"),
    ),
    string_function(
        "INITCAP",
        _ONE,
        argument(0),
        python(_initcap),
        "The text with the first letter of each word in upper case, and the others in lower case.",
        ("INITCAP('hello wORLD')", "Hello World"),
    ),
    string_function(
        "POSITION",
        _TWO,
        always("INT"),
        python(_position),
        "Position of the first occurrence of a text in another, from 1; 0 if there is none.",
        ("POSITION('l' IN 'hello')", "3"),
    ),
    string_function(
        "LOCATE",
        ((TEXT, TEXT, "INT?"),),
        always("INT"),
        python(_position),
        "As POSITION, but searched from a given position.",
        ("LOCATE('l', 'hello', 4)", "4"),
    ),
    string_function(
        "INSTR",
        _TWO,
        always("INT"),
        python(lambda text, part: _position(part, text)),
        "Position of the first occurrence of the second text in the first, from 1; 0 if "
        "there is none.",
        ("INSTR('hello', 'l')", "3"),
    ),
    string_function(
        "SUBSTRING",
        ((TEXT, "INT", "INT?"),),
        forced_nullable(varying(0)),
        _substring,
        "The text from a position (from 1; negative: from the end), with an optional length.",
        ("SUBSTRING('hello', 2, 2)", "el"),
        ("SUBSTRING('hello', 0)", "hello"),
    ),
    string_function(
        "LEFT",
        ((TEXT, "INT"),),
        forced_nullable(varying(0)),
        python(lambda text, count: text[: max(count, 0)]),
        "The first characters of the text, a given number of them.",
        ("LEFT('hello', 2)", "he"),
    ),
    string_function(
        "RIGHT",
        ((TEXT, "INT"),),
        forced_nullable(varying(0)),
        python(lambda text, count: text[-count:] if count > 0 else ""),
        "The last characters of the text, a given number of them.",
        ("RIGHT('hello', 2)", "lo"),
    ),
    string_function(
        "TRIM",
        ((TEXT, f"{TEXT}?"),),
        varying(-1),
        _trim,
        "The text without blanks, or other characters, at one end or both.",
        ("TRIM(BOTH 'x' FROM 'xxaxx')", "a"),
    ),
    string_function(
        "LTRIM",
        ((TEXT, f"{TEXT}?"),),
        varying(0),
        _trim_at(TrimSide.LEADING),
        "The text without blanks, or other characters, on the left.",
        ("LTRIM('abcab', 'ab')", "cab"),
    ),
    string_function(
        "RTRIM",
        ((TEXT, f"{TEXT}?"),),
        varying(0),
        _trim_at(TrimSide.TRAILING),
        "The text without blanks, or other characters, on the right.",
        ("RTRIM('aXX', 'X')", "a"),
    ),
    string_function(
        "BTRIM",
        ((TEXT, f"{TEXT}?"),),
        _STRING,
        _trim_at(TrimSide.BOTH),
        "The text without blanks, or other characters, at both ends.",
        ("BTRIM('xax', 'x')", "a"),
    ),
    string_function(
        "REPEAT",
        ((TEXT, "INT"),),
        _STRING,
        python(_repeated),
        "The text repeated a number of times.",
        ("REPEAT('ab', 3)", "ababab"),
        may_fail=True,
    ),
    string_function(
        "REPLACE",
        ((TEXT, TEXT, TEXT),),
        _STRING,
        python(str.replace),
        "The text with each occurrence of a part replaced.",
        ("REPLACE('hello', 'l', 'L')", "heLLo"),
    ),
    string_function(
        "REVERSE",
        _ONE,
        fixed("STRING"),
        lambda site, text: pc.utf8_reverse(text),
        "The characters in reverse order.",
        ("REVERSE('abc')", "cba"),
    ),
    string_function(
        "LPAD",
        ((TEXT, "INT", TEXT),),
        _padded_type,
        python(_padded(True)),
        "The text padded on the left, or truncated, to a length.",
        ("LPAD('hi', 5, '??')", "???hi"),
        may_fail=True,
    ),
    string_function(
        "RPAD",
        ((TEXT, "INT", TEXT),),
        _padded_type,
        python(_padded(False)),
        "The text padded on the right, or truncated, to a length.",
        ("RPAD('hi', 5, '??')", "hi???"),
        may_fail=True,
    ),
    string_function(
        "CONCAT",
        ((TEXT, f"{TEXT}*"),),
        _STRING,
        _concat,
        "The texts concatenated; NULL if any text is NULL.",
        ("CONCAT('a', 'b', 'c')", "abc"),
    ),
    string_function(
        "CONCAT_WS",
        ((TEXT, f"{TEXT}*"),),
        _STRING,
        _concat_ws,
        "The texts joined by a separator; NULLs are left out.",
        ("CONCAT_WS('-', 'a', 'b')", "a-b"),
    ),
    string_function(
        "OVERLAY",
        ((TEXT, TEXT, "INT", "INT?"),),
        lambda c: logical.VarCharType(
            min(_joined(c.types[0]) + _joined(c.types[1]), logical.MAX_LENGTH),
            nullable=c.any_nullable,
        ),
        python(in_code_units(_overlay)),
        "The text with a part of it replaced.",
        ("OVERLAY('xxxxx' PLACING 'yy' FROM 2 FOR 3)", "xyyx"),
    ),
    string_function(
        "TRANSLATE",
        ((TEXT, TEXT, TEXT),),
        _STRING,
        lambda site, *datums: per_value(_translate, site.arrow, *datums, with_nulls=True),
        "The text with characters of one list replaced by those at the same position in "
        "another list.",
        ("TRANSLATE('hello', 'el', 'ip')", "hippo"),
    ),
    string_function(
        "STARTSWITH",
        _PAIRS,
        always("BOOLEAN"),
        python(lambda text, part: text.startswith(part)),
        "Whether a text begins with another.",
        ("STARTSWITH('hello', 'he')", "TRUE"),
    ),
    string_function(
        "ENDSWITH",
        _PAIRS,
        always("BOOLEAN"),
        python(lambda text, part: text.endswith(part)),
        "Whether a text ends with another.",
        ("ENDSWITH('hello', 'lo')", "TRUE"),
    ),
    *(
        string_function(name, (("<ANY>",),), fixed("BOOLEAN NOT NULL"), kernel, text, example)
        for name, kernel, text, example in (
            (
                "IS_ALPHA",
                _is_of((), _in_plane(str.isalpha)),
                "Whether all characters are letters.",
                ("IS_ALPHA('abc')", "TRUE"),
            ),
            (
                "IS_DIGIT",
                _is_of((logical.IntegralType,), _in_plane(str.isdecimal)),
                "Whether all characters are digits.",
                ("IS_DIGIT('12')", "TRUE"),
            ),
            (
                "IS_DECIMAL",
                _is_of(NUMBERS, _is_number),
                "Whether the text is a number.",
                ("IS_DECIMAL('1.5')", "TRUE"),
            ),
        )
    ),
)
