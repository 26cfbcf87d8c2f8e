"""Conversion of JSON into forms; errors name the place in the document."""

from __future__ import annotations

import math
import re
from typing import Any, Literal, NoReturn, get_args, get_origin

import msgspec
from msgspec import UNSET

from millrace.cep.rules import forms
from millrace.cep.rules.rule_error import RuleError
from millrace.common.similar_names import did_you_mean
from millrace.common.typed_json import learn

__all__ = [
    "check_constant",
    "check_depth",
    "check_text",
    "one_of",
    "only",
    "read",
    "refuse",
    "said",
]

MOST_LEVELS = 40
"""Deeper nesting is refused: nobody reads it, and Python's own limits are not far."""
MOST_DIGITS = 100
"""Most digits of a constant: calculating with thousands of digits takes long."""
KINDS = {
    "str": "text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
"""Plain words for the types that `msgspec` names."""
STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


def read(value: Any, kind: Any, at: str) -> Any:
    """A value of a document, converted to the type that its form declares.

    Raises:
        RuleError: the value is of another type; the message names the place.

    Example:
        >>> read({"kind": 5}, forms.SkipForm, "pattern.skip")
        Traceback (most recent call last):
        ...
        millrace.cep.rules.rule_error.RuleError: pattern.skip.kind: expected text, got 5
    """
    learn(kind)
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:
        refuse(at, "a name or a word in it has half a character (a lone surrogate)")
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        place = place.rstrip("`")
        refuse(_joined(at, place), _in_words(problem, _value_at(value, place), place))


def refuse(at: str, problem: str) -> NoReturn:
    """Raise RuleError for a place in the document."""
    raise RuleError(f"{at or 'the rule'}: {problem}")


def only(form: forms.Form, at: str, *names: str) -> None:
    """Refuse all members of a form other than the given names."""
    for name in said(form):
        if name not in names:
            refuse(at, f"there is no {name!r} here; known are: {', '.join(names)}")


def said(form: forms.Form) -> list[str]:
    """Names of the members that a form sets, as they are in JSON."""
    fields = msgspec.structs.fields(form)
    return [f.encode_name for f in fields if getattr(form, f.name) not in (UNSET, f.default)]


def one_of(value: Any, at: str, words: tuple[str, ...]) -> str:
    """The value, after a check that it is one of the allowed words."""
    if value not in words:
        refuse(at, f"expected one of {', '.join(words)}, got {_short(value)}")
    return str(value)


def check_text(text: str, at: str) -> str:
    """The text, unless it has a lone surrogate, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        refuse(at, "has half a character (a lone surrogate), which cannot be written anywhere")
    return text


def check_constant(value: Any, at: str) -> Any:
    """The value itself. NaN, infinities and integers with too many digits are refused."""
    if type(value) is float and not math.isfinite(value):
        refuse(at, f"{value} is not a number that can be compared")
    if type(value) is int and abs(value) >= 10**MOST_DIGITS:
        refuse(at, f"a number has at most {MOST_DIGITS} digits")
    return value


def check_depth(value: Any, at: str, level: int = 0) -> None:
    """Refuse values that are nested too deep."""
    if level > MOST_LEVELS:
        refuse(at, f"is nested more than {MOST_LEVELS} levels deep")
    if isinstance(value, dict):
        for name, inner in value.items():
            check_depth(inner, _joined(at, f".{str(name)[:60]}"), level + 1)
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            check_depth(inner, f"{at}[{number}]", level + 1)


def _joined(at: str, place: str) -> str:
    return at + place if at else place.removeprefix(".")


def _value_at(value: Any, place: str) -> Any:
    for name, number in STEP.findall(place):
        try:
            value = value[int(number)] if number else value[name]
        except (LookupError, TypeError):
            return UNSET
    return value


def _in_words(problem: str, value: Any, place: str) -> str:
    """The error of `msgspec` in words for people without knowledge of Python's types."""
    quoted = re.findall(r"`(.*?)`", problem, re.DOTALL)
    limit = re.search(r"([<>]=) (\d+)$", problem)
    if problem.startswith("Object missing"):
        return f"{quoted[0]!r} is missing"
    if problem.startswith("Object contains unknown"):
        hint = did_you_mean(quoted[0], NAMES, f"there are {', '.join(NAMES)}")
        return f"there is no {_short(quoted[0])} here{hint}"
    if problem.startswith("Invalid enum"):
        wanted = f"one of {', '.join(WORDS[place.rpartition('.')[2]])}"
    elif limit is not None and quoted[0] == "str":
        return "is empty"
    elif limit is not None and quoted[0] == "array":
        return f"expected a list of {limit[2]} or more, got one of {len(value)}"
    elif limit is not None:
        wanted = f"a whole number of {limit[2]} or {'more' if limit[1] == '>=' else 'less'}"
    else:
        kinds = quoted[0].split(" | ")
        known = [
            kind for kind in KINDS if kind in kinds and not (kind == "int" and "float" in kinds)
        ]
        wanted = ", ".join(KINDS[kind] for kind in known)
    return f"expected {wanted}, got {_short(value)}"


def _short(value: Any) -> str:
    if isinstance(value, (dict, list, tuple)):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        return f"a number of more than {MOST_DIGITS} digits"  # Python writes out only some thousand
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _words(kind: Any) -> tuple[str, ...]:
    """The words that a type allows, if it is a choice of words."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(word for inner in get_args(kind) for word in _words(inner))


_FIELDS = [f for kind in forms.Form.__subclasses__() for f in msgspec.structs.fields(kind)]
NAMES = tuple(dict.fromkeys(f.encode_name for f in _FIELDS))
"""All names that objects of rules may have."""
WORDS = {f.encode_name: words for f in _FIELDS if (words := _words(f.type))}
"""Words that are allowed in a place, by its name."""
