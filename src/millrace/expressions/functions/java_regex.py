"""`java_pattern`: translates regular expressions of ``java.util.regex`` for Python and RE2.

A pattern is read as Java reads it and written anew. What Python reads otherwise (``.``, ``$``,
``\\d``, classes within classes, flags in the middle) is written out, so that no flag is needed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.code_points import CodePoints
from millrace.expressions.functions.java_classes import class_of, property_of
from millrace.expressions.functions.java_pattern import JavaPattern

__all__ = ["PatternSyntaxError", "java_pattern"]

_ENDS = "\n\r\x85\u2028\u2029"
_NO_END = "\r\x85\u2028\u2029"
_END = f"(?:(?=(?:\r\n?|[{_NO_END[1:]}])?\\Z)|(?<!\r)(?=\n\\Z))"
_END_OF_LINE = f"(?:(?=[{_NO_END}]|\\Z)|(?<!\r)(?=\n))"
_BEGIN_OF_LINE = f"(?:\\A|(?<=[\n{_NO_END[1:]}])(?!\\Z)|(?<=\r)(?![\n])(?!\\Z))"
_BREAK = f"(?:\r\n|[\n\x0b\f{_NO_END}])"
_NEVER = "(?!)"

_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_MOST = 2**31 - 1


class PatternSyntaxError(EvaluationError):
    """A text is not a valid regular expression of Java."""


@lru_cache(maxsize=1024)
def java_pattern(pattern: str) -> JavaPattern:
    """The translation of a pattern of ``java.util.regex``.

    Raises:
        PatternSyntaxError: it is not a regular expression.
        EvaluationError: Python has nothing like it.

    >>> bool(java_pattern(r"(?iu)[a-zä&&[^b]]+").compiled.fullmatch("XÄ"))
    True
    >>> java_pattern(r"\\Q.\\E").replaced("a.b", "-")
    'a-b'
    """
    shown = pattern if len(pattern) <= 100 else f"{pattern[:100]}..."
    try:
        reader = _Reader(pattern)
        text = reader.whole()
    except re.error as error:
        raise PatternSyntaxError(f"{shown!r} is not a regular expression: {error}") from None
    except RecursionError:
        raise EvaluationError(f"{shown!r} is nested too deeply") from None
    try:
        return reader.pattern(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise EvaluationError(
            f"the regular expression {shown!r} has an unsupported part: {error}"
        ) from None


class _Reader:
    """Reads a Java pattern and writes a Python pattern."""

    def __init__(self, pattern: str) -> None:
        self._text, self._at = pattern, 0
        self._flags: frozenset[str] = frozenset()
        self._groups = 0
        self._closed: set[int] = set()
        self._names: dict[str, int] = {}
        self._regular = True
        """Whether RE2 can do all that was read."""
        self._ends = False
        """Whether the last thing that was written is a ``$`` of the whole pattern."""
        self._empty = False
        """Whether the last thing that was written may match nothing."""
        self._repeats_empty = False
        """Whether such a thing is repeated."""

    def whole(self) -> str:
        """Translate the whole pattern."""
        made = self._alternatives()
        if self._at < len(self._text):
            raise self._error("there is no ( for this )")
        return "|".join(made)

    def pattern(self, text: str) -> JavaPattern:
        """The compiled result of `whole`, for Python and for RE2."""
        made = re.compile(text)
        if not self._regular or any("\ud800" <= character <= "\udfff" for character in text):
            return JavaPattern(made, None)
        linear = text
        if self._ends:
            linear = f"{text.removesuffix(_END)}(?P<end>(?:\r\n|[{_ENDS}])?)\\z"
        return JavaPattern(made, linear, self._ends, not self._repeats_empty)

    def _error(self, reason: str) -> re.error:
        return re.error(f"{reason} (at character {self._at + 1})")

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _take(self, expected: str) -> bool:
        present = self._text.startswith(expected, self._at)
        self._at += len(expected) if present else 0
        return present

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise self._error("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _until(self, end: str) -> str:
        stop = self._text.find(end, self._at)
        if stop < 0:
            raise self._error(f"there is no {end} at the end")
        text, self._at = self._text[self._at : stop], stop + len(end)
        return text

    def _alternatives(self) -> list[str]:
        made: list[str] = []
        parts: list[str] = []
        one_is_empty, empty = False, True
        while self._at < len(self._text) and self._peek() != ")":
            if self._take("|"):
                made.append("".join(parts))
                parts, self._ends = [], False
                one_is_empty, empty = one_is_empty or empty, True
                continue
            if "x" in self._flags and self._comment():
                continue
            self._ends = self._empty = False
            atom = self._atom()
            if atom:
                parts.append(self._quantified(atom))
                empty = empty and self._empty
        self._empty = one_is_empty or empty
        return [*made, "".join(parts)]

    def _comment(self) -> bool:
        if self._peek() == "#":
            stop = self._text.find("\n", self._at)
            self._at = len(self._text) if stop < 0 else stop + 1
            return True
        if self._peek() in " \t\n\x0b\f\r":
            self._at += 1
            return True
        return False

    def _quantified(self, atom: str) -> str:
        while "x" in self._flags and self._at < len(self._text) and self._comment():
            pass
        sign = self._peek()
        if sign and sign in "*+?":
            self._at += 1
        elif sign == "{":
            sign = self._counts()
        else:
            return atom
        self._ends = False
        self._repeats_empty = self._repeats_empty or (self._empty and sign != "?")
        self._empty = self._empty or sign in ("*", "?") or sign.startswith("{0")
        if self._take("?"):
            return f"{atom}{sign}?"
        if self._take("+"):
            self._regular = False
            return f"{atom}{sign}+"
        return atom + sign

    def _counts(self) -> str:
        match = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII).match(self._text, self._at)
        if not match:
            raise self._error("{ begins no number of times")
        least, most = int(match[1]), int(match[3] or match[1])
        if least > most or most > _MOST:
            raise self._error(f"{match[0]} is not a number of repetitions")
        self._at = match.end()
        self._regular = self._regular and most <= 100
        return match[0]

    def _atom(self) -> str:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._written(self._class())
        if character == "\\":
            return self._escape()
        if character == ".":
            return self._dot()
        if character == "^":
            self._empty = True
            if "m" not in self._flags:
                return "\\A"
            self._regular = False
            return _BEGIN_OF_LINE
        if character == "$":
            return self._end()
        if character in "*+?{":
            self._at -= 1
            raise self._error(f"there is nothing before {character} to repeat")
        return self._literal(character)

    def _dot(self) -> str:
        if "s" in self._flags:
            return "(?s:.)"
        return "[^\n]" if "d" in self._flags else f"[^{_ENDS}]"

    def _end(self) -> str:
        self._empty = True
        if "m" in self._flags:
            self._regular = False
            return "(?=\n|\\Z)" if "d" in self._flags else _END_OF_LINE
        if "d" in self._flags or self._at < len(self._text):
            self._regular = False
            return "(?=\n?\\Z)" if "d" in self._flags else _END
        self._ends = True
        return _END

    def _literal(self, character: str) -> str:
        escaped = re.escape(character)
        if "i" not in self._flags or character.lower() == character.upper():
            return escaped
        if "u" in self._flags or "U" in self._flags:
            self._regular = False
            return f"(?i:{escaped})"
        if not character.isascii():
            return escaped
        return f"[{character.lower()}{character.upper()}]"

    def _written(self, points: CodePoints) -> str:
        if not points.ranges:
            self._regular = False
            return _NEVER
        return f"[{points.text()}]"

    def _group(self) -> str:
        before = self._flags
        if not self._take("?"):
            self._groups += 1
            return self._closing(f"(?P<g{self._groups}>", before, self._groups)
        for opening in (":", "=", "!", ">"):
            if self._take(opening):
                self._regular = self._regular and opening == ":"
                return self._closing(f"(?{opening}", before)
        if self._take("<=") or self._take("<!"):
            return self._look_behind(self._text[self._at - 1], before)
        if self._take("<"):
            name = self._until(">")
            if not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9]*", name) or name in self._names:
                raise self._error(
                    f"{name!r} is not the name of a group, or the second of this name"
                )
            self._groups += 1
            self._names[name] = self._groups
            return self._closing(f"(?P<g{self._groups}>", before, self._groups)
        return self._flagged(before)

    def _flagged(self, before: frozenset[str]) -> str:
        """Translate flags: ``(?i)`` holds up to the end of the surrounding group, ``(?i:...)``
        within its own group."""
        on, character = True, self._next()
        flags = before
        while character not in ":)":
            if character == "-":
                on = False
            elif character in "idmsuxU":
                flags = flags | {character} if on else flags - {character}
            else:
                raise self._error(f"(?{character} begins no group")
            character = self._next()
        self._flags = flags
        return "" if character == ")" else self._closing("(?:", before)

    def _closing(self, opening: str, before: frozenset[str], number: int = 0) -> str:
        made = self._alternatives()
        if not self._take(")"):
            raise self._error("there is no ) for a (")
        self._flags, self._ends = before, False
        if number:
            self._closed.add(number)
        return f"{opening}{'|'.join(made)})"

    def _look_behind(self, sign: str, before: frozenset[str]) -> str:
        """Translate a look-behind; Python requires a fixed length, so each alternative becomes a
        look-behind of its own."""
        self._regular = False
        made = self._alternatives()
        if not self._take(")"):
            raise self._error("there is no ) for a (")
        self._flags = before
        if sign == "!":
            return f"(?:{''.join(f'(?<!{alternative})' for alternative in made)})"
        return f"(?:{'|'.join(f'(?<={alternative})' for alternative in made)})"

    def _escape(self) -> str:
        letter = self._next()
        if letter == "Q":
            return self._quoted()
        if letter in "AZzbBGRX":
            return self._boundary(letter)
        if letter == "k":
            if not self._take("<"):
                raise self._error("\\k is not followed by <name>")
            name = self._until(">")
            if name not in self._names:
                raise self._error(f"there is no group {name!r}")
            return self._reference(self._names[name])
        if letter.isdecimal() and letter != "0":
            return self._reference(self._number(int(letter)))
        points = self._set(letter)
        if points is not None:
            return self._written(points)
        return self._literal(self._character(letter))

    def _quoted(self) -> str:
        stop = self._text.find("\\E", self._at)
        quoted = self._text[self._at : stop if stop >= 0 else len(self._text)]
        self._at = stop + 2 if stop >= 0 else len(self._text)
        if not quoted:
            return ""
        *others, last = map(self._literal, quoted)
        # what repeats it repeats the last character
        return "".join(others) + self._quantified(last)

    def _boundary(self, letter: str) -> str:
        self._regular = self._regular and letter in "AR"
        self._empty = letter != "R"
        if letter in "GX" or (letter == "b" and self._peek() == "{"):
            raise EvaluationError(f"regular expressions with \\{letter} are not supported")
        kept = {"A": "\\A", "z": "\\Z", "b": "\\b", "B": "\\B", "R": _BREAK}
        return kept.get(letter, _END)

    def _number(self, number: int) -> int:
        """Number of a group reference: it takes as many digits as there are groups for."""
        while self._peek().isdecimal() and number * 10 + int(self._peek()) <= self._groups:
            number = number * 10 + int(self._next())
        return number

    def _reference(self, number: int) -> str:
        self._regular = False
        if number not in self._closed:
            return _NEVER
        flags = "i" if {"u", "U"} & self._flags else "ai"
        return f"(?{flags}:\\{number})" if "i" in self._flags else f"(?:\\{number})"

    def _set(self, letter: str) -> CodePoints | None:
        """Characters of an escape such as ``\\d`` or ``\\p{L}``; None for one character."""
        if letter in "pP":
            points = self._property()
            return ~points if letter == "P" else points
        return class_of(letter, "U" in self._flags)

    def _property(self) -> CodePoints:
        name = self._until("}") if self._take("{") else self._next()
        characters = property_of(name, "U" in self._flags)
        if characters is None:
            raise EvaluationError(f"regular expressions with \\p{{{name}}} are not supported")
        return self._cased(characters)

    def _cased(self, points: CodePoints) -> CodePoints:
        if "i" not in self._flags or len(points.ranges) > 100:
            return points
        return points.in_any_case(bool({"u", "U"} & self._flags))

    def _character(self, letter: str) -> str:
        """The character that an escape stands for."""
        if letter in _CHARACTERS:
            return _CHARACTERS[letter]
        if letter == "0":
            return chr(self._digits(r"[0-3]?[0-7]{1,2}", 8))
        if letter == "x":
            braced = self._take("{")
            number = self._digits(r"[0-9a-fA-F]+" if braced else r"[0-9a-fA-F]{2}", 16)
            if (braced and not self._take("}")) or number > 0x10FFFF:
                raise self._error("\\x is not followed by hexadecimal digits of a character")
            return chr(number)
        if letter == "u":
            number = self._digits(r"[0-9a-fA-F]{4}", 16)
            if 0xD800 <= number < 0xDC00 and self._take("\\u"):
                low = self._digits(r"[0-9a-fA-F]{4}", 16)
                number = 0x10000 + ((number - 0xD800) << 10) + (low - 0xDC00)
            return chr(number)
        if letter == "c":
            return chr(ord(self._next()) ^ 64)
        if letter == "N" and self._take("{"):
            try:
                return unicodedata.lookup(self._until("}"))
            except KeyError:
                raise self._error("there is no character of this name") from None
        if letter.isascii() and letter.isalpha():
            raise self._error(f"there is no escape \\{letter}")
        return letter

    def _digits(self, shape: str, base: int) -> int:
        match = re.compile(shape).match(self._text, self._at)
        if not match:
            raise self._error("digits are missing")
        self._at = match.end()
        return int(match[0], base)

    def _class(self) -> CodePoints:
        """The characters of a class, from behind ``[`` up to its ``]``: characters, ranges and
        classes; ``&&`` binds more weakly than all of these."""
        negated = self._take("^")
        met: CodePoints | None = None
        ranges: list[tuple[int, int]] = []
        first = True
        while first or not self._take("]"):
            if self._at >= len(self._text):
                raise self._error("there is no ] for a [")
            if self._take("&&"):
                points, ranges = CodePoints(ranges), []
                met = points if met is None else met & points
                while self._take("&"):
                    pass
                first = False
                continue
            if first and self._take("]"):
                ranges += CodePoints.of("]").ranges
            elif self._take("["):
                ranges += self._class().ranges
            elif "x" in self._flags and self._comment():
                continue
            else:
                ranges += self._member().ranges
            first = False
        points = CodePoints(ranges)
        if met is not None:
            points = met & points if ranges else met
        return ~points if negated else points

    def _member(self) -> CodePoints:
        """Characters of a class member: a character, a range or an escape."""
        begin = self._next()
        if begin == "\\":
            letter = self._next()
            if letter == "Q":
                return self._cased(CodePoints((ord(c), ord(c)) for c in self._until("\\E")))
            points = self._set(letter)
            if points is not None:
                return points
            begin = self._character(letter)
        end = begin
        if self._peek() == "-" and self._peek(2) not in ("-]", "-[", "-"):
            self._at += 1
            end = self._next()
            if end == "\\":
                end = self._character(self._next())
        if end < begin:
            raise self._error(f"{begin}-{end} is not a range")
        return self._cased(CodePoints([(ord(begin), ord(end))]))
