"""`java_format`: texts of ``java.util.Formatter`` in the locale US, for PRINTF."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite, isinf, isnan
from typing import Any

__all__ = ["FormatError", "JavaFloat", "JavaInteger", "java_format"]

_SPECIFIER = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(?:\.(\d+))?([tT])?([a-zA-Z%])")
_EXACT = Context(prec=1100)
"""A double has up to 1,075 digits."""


class FormatError(ValueError):
    """The template is invalid, or an argument does not match its conversion."""


@dataclass(frozen=True, slots=True)
class JavaInteger:
    """A number of one of Java's integer types.

    Attributes:
        bits: 8, 16, 32 or 64.
    """

    value: int
    bits: int

    def __str__(self) -> str:
        return str(self.value)


class JavaFloat(float):
    """A 32-bit floating-point number. It is printed with the fewest digits that identify it among
    32-bit numbers.
    """

    def __repr__(self) -> str:
        return _shortest(self)


def _shortest(value: float) -> str:
    for digits in range(1, 10):
        text = f"{float(value):.{digits}g}"
        (read,) = struct.unpack("f", struct.pack("f", float(text)))
        if read == float(value):
            return text
    return float.__repr__(value)


@dataclass(frozen=True, slots=True)
class _Specifier:
    flags: str
    width: int
    precision: int | None
    conversion: str

    def has(self, flag: str) -> bool:
        return flag in self.flags

    def forbid(self, flags: str) -> None:
        for flag in flags:
            if flag in self.flags:
                raise FormatError(f"%{self.conversion} has no flag {flag!r}")

    def padded(self, text: str) -> str:
        if self.has("-"):
            return text.ljust(self.width)
        return text.rjust(self.width)

    def signed(self, digits: str, negative: bool, zeros: bool = True) -> str:
        """The digits with a sign or in brackets, and padded with zeros if the flags say so."""
        before = "-" if negative else "+" if self.has("+") else " " if self.has(" ") else ""
        behind = ""
        if negative and self.has("("):
            before, behind = "(", ")"
        if zeros and self.has("0"):
            digits = digits.rjust(self.width - len(before) - len(behind), "0")
        return self.padded(f"{before}{digits}{behind}")


def java_format(template: str, arguments: Sequence[Any], longest: int = 2**26) -> str:
    """The template with each ``%`` specifier replaced by its argument.

    Args:
        arguments: None, bool, `JavaInteger`, float, or any other as the text it has in Java.
        longest: the greatest width.

    Raises:
        FormatError: Java would throw an ``IllegalFormatException``.

    >>> java_format("%,d|%05.1f|%-4s|%2$s", [JavaInteger(1234567, 32), 2.25, "ab"])
    '1,234,567|002.3|ab  |2.25'
    """
    made, position, ordinary, last = [], 0, 0, -1
    while (start := template.find("%", position)) >= 0:
        made.append(template[position:start])
        match = _SPECIFIER.match(template, start)
        if not match:
            raise FormatError(f"% begins no conversion in {template[start : start + 20]!r}")
        position = match.end()
        specifier = _specifier(match, longest)
        if match[6] in "n%":
            made.append(_sign(specifier, match))
            continue
        if specifier.has("<"):
            index = last
        elif match[1] is not None:
            index = int(match[1]) - 1
        else:
            index, ordinary = ordinary, ordinary + 1
        if not 0 <= index < len(arguments):
            raise FormatError(f"there is no argument for {match[0]}")
        last = index
        made.append(_converted(specifier, arguments[index]))
    return "".join([*made, template[position:]])


def _specifier(match: re.Match[str], longest: int) -> _Specifier:
    flags, width, precision = match[2], int(match[3] or 0), match[4]
    if len(set(flags)) < len(flags):
        raise FormatError(f"a flag of {match[0]} is there twice")
    if match[5]:
        raise FormatError(f"{match[0]} takes a time, which is not supported")
    if max(width, int(precision or 0)) > longest:
        raise FormatError(f"{match[0]} is too wide")
    if ("-" in flags or ("0" in flags and match[6] not in "n%")) and not width:
        raise FormatError(f"{match[0]} needs a width")
    if {"-", "0"} <= set(flags) or {"+", " "} <= set(flags):
        raise FormatError(f"flags of {match[0]} exclude each other")
    return _Specifier(flags, width, None if precision is None else int(precision), match[6])


def _sign(specifier: _Specifier, match: re.Match[str]) -> str:
    if specifier.precision is not None or (match[6] == "n" and (specifier.width or match[2])):
        raise FormatError(f"{match[0]} has no width and no precision")
    if match[6] == "n":
        return "\n"
    specifier.forbid("#+ 0,(")
    return specifier.padded("%")


def _converted(specifier: _Specifier, argument: Any) -> str:
    letter = specifier.conversion
    small = letter.lower()
    convert = _CONVERSIONS.get(small)
    if convert is None or (letter != small and small in "dof"):
        raise FormatError(f"there is no conversion %{letter}")
    if small in "doxefga" and argument is None:
        text = specifier.padded("null")
    else:
        text = convert(specifier, argument)
    return text.upper() if letter != small else text


def _text(specifier: _Specifier, text: str) -> str:
    specifier.forbid("#+ 0,(")
    return specifier.padded(text if specifier.precision is None else text[: specifier.precision])


def _boolean(specifier: _Specifier, argument: Any) -> str:
    return _text(specifier, "false" if argument is None or argument is False else "true")


def _string(specifier: _Specifier, argument: Any) -> str:
    return _text(specifier, java_text(argument))


def java_text(argument: Any) -> str:
    """Text of a value, as by ``String.valueOf``."""
    if argument is None:
        return "null"
    if isinstance(argument, bool):
        return str(argument).lower()
    return double_text(argument) if isinstance(argument, float) else str(argument)


def double_text(value: float) -> str:
    """Text of a double, as by ``Double.toString``: without exponent from 10^-3 up to 10^7."""
    if not isfinite(value):
        return "NaN" if isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else f"{text}.0"
    sign, figures, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, figures))
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{digits[0]}.{digits[1:] or '0'}E{power}"


def _hash(specifier: _Specifier, argument: Any) -> str:
    if argument is None:
        return _text(specifier, "null")
    if isinstance(argument, bool):
        number = 1231 if argument else 1237
    elif isinstance(argument, JavaInteger):
        value = argument.value
        number = value ^ (value >> 32) if argument.bits == 64 else value
    elif isinstance(argument, float):
        (whole,) = struct.unpack(">q", struct.pack(">d", argument))
        number = whole ^ (whole >> 32)
    else:
        raise FormatError("%h takes numbers and booleans")
    return _text(specifier, f"{number % 2**32:x}")


def _character(specifier: _Specifier, argument: Any) -> str:
    specifier.forbid("#+ 0,(")
    if specifier.precision is not None:
        raise FormatError("%c has no precision")
    if argument is None:
        return specifier.padded("null")
    if not isinstance(argument, JavaInteger) or argument.bits == 64:
        raise FormatError("%c takes an integer")
    if not 0 <= argument.value <= 0x10FFFF:
        raise FormatError(f"{argument} is not a character")
    half = 0xD800 <= argument.value <= 0xDFFF
    return specifier.padded("?" if half else chr(argument.value))


def _integer(specifier: _Specifier, argument: Any) -> str:
    if not isinstance(argument, JavaInteger) or specifier.precision is not None:
        raise FormatError(f"%{specifier.conversion} takes an integer, and has no precision")
    value, small = argument.value, specifier.conversion.lower()
    if small == "d":
        specifier.forbid("#")
        return specifier.signed(f"{abs(value):{',' if specifier.has(',') else ''}d}", value < 0)
    specifier.forbid(",( +")
    digits = f"{value % 2**argument.bits:{small}}"
    prefix = ("0x" if small == "x" else "0") if specifier.has("#") else ""
    if specifier.has("0"):
        digits = digits.rjust(specifier.width - len(prefix), "0")
    return specifier.padded(prefix + digits)


def _float(specifier: _Specifier, argument: Any) -> str:
    if not isinstance(argument, float):
        raise FormatError(f"%{specifier.conversion} takes a FLOAT or a DOUBLE")
    if isnan(argument):
        return specifier.padded("NaN")
    if isinf(argument):
        return specifier.signed("Infinity", argument < 0, zeros=False)
    value = Decimal(float.__repr__(argument))
    digits = _DIGITS[specifier.conversion.lower()](specifier, value.copy_abs())
    return specifier.signed(digits, value.is_signed())


def _fixed(specifier: _Specifier, value: Decimal) -> str:
    places = 6 if specifier.precision is None else specifier.precision
    rounded = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=places + 400))
    text = f"{rounded:{',' if specifier.has(',') else ''}f}"
    return f"{text}." if specifier.has("#") and not places else text


def _scientific(specifier: _Specifier, value: Decimal) -> str:
    specifier.forbid(",")
    places = 6 if specifier.precision is None else specifier.precision
    power = value.adjusted() if value else 0
    scaled = value.scaleb(-power, _EXACT)
    digits = scaled.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=places + 400))
    if digits >= 10:
        power += 1
        digits = digits.scaleb(-1).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)
    dot = "." if specifier.has("#") and not places else ""
    return f"{digits:f}{dot}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _general(specifier: _Specifier, value: Decimal) -> str:
    specifier.forbid("#")
    places = {None: 6, 0: 1}.get(specifier.precision, specifier.precision) or 1
    if value:
        value = Context(prec=places, rounding=ROUND_HALF_UP).plus(value)
    plain = not value or Decimal("0.0001") <= value < Decimal(10) ** places
    left = places - (value.adjusted() + 1 if value else 1) if plain else places - 1
    kept = _Specifier(specifier.flags, specifier.width, max(left, 0), specifier.conversion)
    return _fixed(kept, value) if plain else _scientific(kept, value)


def _hexadecimal(specifier: _Specifier, value: Decimal) -> str:
    specifier.forbid(",(")
    if specifier.precision is not None:
        raise FormatError("%a with a precision is not supported")
    mantissa, _, power = float(value).hex().removeprefix("0x").partition("p")
    whole, _, rest = mantissa.partition(".")
    return f"0x{whole}.{rest.rstrip('0') or '0'}p{int(power)}"


_DIGITS: dict[str, Callable[[_Specifier, Decimal], str]] = {
    "f": _fixed,
    "e": _scientific,
    "g": _general,
    "a": _hexadecimal,
}
_CONVERSIONS: dict[str, Callable[[_Specifier, Any], str]] = {
    "b": _boolean,
    "h": _hash,
    "s": _string,
    "c": _character,
    "d": _integer,
    "o": _integer,
    "x": _integer,
    "e": _float,
    "f": _float,
    "g": _float,
    "a": _float,
}
