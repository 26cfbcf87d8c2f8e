"""Typed configuration options and how to declare them, with the names of PyFlink."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from millrace.common.config.memory_size import MemorySize
from millrace.common.errors import ConfigurationError
from millrace.common.time.amounts import Duration, Time, millis

__all__ = ["ConfigOption", "ConfigOptions", "OptionBuilder", "TypedConfigOptionBuilder"]

T = TypeVar("T")

TRUE_WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """A configuration key with the type of its value, its default and its description.

    Example:
        >>> option = ConfigOptions.key("user.limit").int_type().default_value(10)
        >>> option.read("25")
        25
    """

    key: str
    type_name: str
    default: T | None
    description: str = ""
    choices: tuple[str, ...] = ()
    """For words: the ones that are allowed."""
    minimum: int | None = None
    """For numbers and durations (ms): the smallest allowed."""

    def read(self, value: Any) -> T:
        """The typed value of a value that a user gave, which may be a text.

        Raises:
            ConfigurationError: it cannot be read, or is out of bounds.
        """
        try:
            typed = READERS[self.type_name](value)
        except (TypeError, ValueError) as error:
            raise self._refused(value, f"a {self.type_name}", error) from None
        checked: T = self._checked(typed)
        return checked

    def with_description(self, description: str) -> ConfigOption[T]:
        """The same option with a description."""
        return replace(self, description=description)

    def at_least(self, minimum: int) -> ConfigOption[T]:
        """The same option with a lower bound."""
        return replace(self, minimum=minimum)

    def one_of(self, *choices: str) -> ConfigOption[T]:
        """The same option, restricted to some words; their case does not matter."""
        return replace(self, choices=choices)

    def _checked(self, typed: Any) -> Any:
        if self.choices:
            return self._choice(typed)
        if self.minimum is not None and size(typed) < self.minimum:
            raise self._refused(typed, f"at least {self.minimum}{unit(typed)}")
        return typed

    def _choice(self, typed: str) -> str:
        for choice in self.choices:
            if choice.lower() == typed.lower():
                return choice
        raise self._refused(typed, f"one of {', '.join(self.choices)}")

    def _refused(
        self, value: Any, wanted: str, error: Exception | None = None
    ) -> ConfigurationError:
        why = f" ({error})" if error else ""
        return ConfigurationError(f"{self.key} must be {wanted}, got {value!r}{why}")


class ConfigOptions:
    """Declares options of a program; keys that begin with ``user.`` are always accepted."""

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """Begin to declare the option of a key."""
        return OptionBuilder(key)


@dataclass(frozen=True, slots=True)
class OptionBuilder:
    """An option without its type."""

    key: str

    def boolean_type(self) -> TypedConfigOptionBuilder[bool]:
        """Declare true or false."""
        return TypedConfigOptionBuilder(self.key, "boolean")

    def int_type(self) -> TypedConfigOptionBuilder[int]:
        """Declare a whole number."""
        return TypedConfigOptionBuilder(self.key, "number")

    def long_type(self) -> TypedConfigOptionBuilder[int]:
        """Declare a whole number."""
        return self.int_type()

    def float_type(self) -> TypedConfigOptionBuilder[float]:
        """Declare a floating point number."""
        return TypedConfigOptionBuilder(self.key, "float")

    def double_type(self) -> TypedConfigOptionBuilder[float]:
        """Declare a floating point number."""
        return self.float_type()

    def string_type(self) -> TypedConfigOptionBuilder[str]:
        """Declare a text."""
        return TypedConfigOptionBuilder(self.key, "string")

    def duration_type(self) -> TypedConfigOptionBuilder[Duration]:
        """Declare an amount of time."""
        return TypedConfigOptionBuilder(self.key, "duration")

    def memory_type(self) -> TypedConfigOptionBuilder[MemorySize]:
        """Declare an amount of memory."""
        return TypedConfigOptionBuilder(self.key, "memory size")

    def list_type(self) -> TypedConfigOptionBuilder[list[str]]:
        """Declare a list of texts, written ``"[a, b]"``, ``"a;b"`` or one per line after ``-``."""
        return TypedConfigOptionBuilder(self.key, "list")

    def map_type(self) -> TypedConfigOptionBuilder[dict[str, str]]:
        """Declare pairs of texts, written ``"a:1,b:2"``."""
        return TypedConfigOptionBuilder(self.key, "map")


@dataclass(frozen=True, slots=True)
class TypedConfigOptionBuilder(Generic[T]):
    """A typed option that lacks its default."""

    key: str
    type_name: str

    def default_value(self, value: T) -> ConfigOption[T]:
        """The option with the given default."""
        return ConfigOption(self.key, self.type_name, value)

    def no_default_value(self) -> ConfigOption[T | None]:
        """The option without a default."""
        return ConfigOption(self.key, self.type_name, None)


def size(value: Any) -> int | float:
    """Size of a value, to compare it with a minimum: milliseconds, bytes or the number itself."""
    if isinstance(value, Duration):
        return value.to_millis()
    number: int | float = value.bytes_size if isinstance(value, MemorySize) else value
    return number


def unit(value: Any) -> str:
    return " ms" if isinstance(value, Duration) else ""


def read_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() not in TRUE_WORDS:
        raise ValueError("true or false")
    return TRUE_WORDS[str(value).lower()]


def read_number(value: Any) -> int:
    if isinstance(value, (bool, float)):
        raise TypeError("not a whole number")
    try:
        return int(value)
    except ValueError:
        raise ValueError("not a whole number") from None


def read_float(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError("not a number")
    return float(value)


def read_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, (Time, timedelta, int)):
        return Duration.of_millis(millis(value))
    return Duration.parse(str(value))


def read_memory_size(value: Any) -> MemorySize:
    return value if isinstance(value, MemorySize) else MemorySize.parse(str(value))


def read_map(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(key): str(item) for key, item in value.items()}
    pairs = [pair.partition(":") for pair in _split(str(value), ",") if pair]
    if not all(colon for _, colon, _ in pairs):
        raise ValueError("pairs are written a:1,b:2")
    return {key.strip(): item.strip() for key, _, item in pairs}


def read_list(value: Any) -> list[str]:
    """The items of a list in the flow or block style of YAML, or separated by semicolons."""
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    text = str(value).strip()
    if text.startswith("[") and text.endswith("]"):
        items = _split(text[1:-1], ",")
    elif text.startswith("- "):
        lines = [line.strip().removeprefix("-") for line in text.splitlines()]
        items = [line.strip().strip("'\"") for line in lines]
    else:
        items = _split(text, ";")
    return [item for item in items if item]


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text. A part in quotes may contain the separator; within it, the quote itself
    is doubled, as in Flink."""
    quoted = "|".join(rf"{quote}(?:[^{quote}]|{quote}{quote})*{quote}" for quote in "'\"")
    part = re.compile(rf"\s*({quoted}|[^{separator}]*?)\s*(?:{separator}|$)")
    return [_unquoted(match[1]) for match in part.finditer(text)]


def _unquoted(part: str) -> str:
    if len(part) > 1 and part[0] in "'\"" and part[-1] == part[0]:
        return part[1:-1].replace(2 * part[0], part[0])
    return part.strip("'\"")


def quoted_part(part: str, separators: str) -> str:
    """Text of one part of a list or map, quoted so that `READERS` read the same part again.

    Example:
        >>> quoted_part("plain", ","), quoted_part("it's a, b", ",")
        ('plain', "'it''s a, b'")
    """
    is_plain = (
        part and part == part.strip() and not any(char in part for char in "'\"" + separators)
    )
    return part if is_plain else "'" + part.replace("'", "''") + "'"


READERS: dict[str, Callable[[Any], Any]] = {
    "boolean": read_boolean,
    "duration": read_duration,
    "float": read_float,
    "list": read_list,
    "map": read_map,
    "memory size": read_memory_size,
    "number": read_number,
    "string": str,
}
