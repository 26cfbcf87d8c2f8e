"""The configuration of a job: keys and values, read through typed options."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from millrace.common.config.config_options import (
    ConfigOption,
    ConfigOptions,
    quoted_part,
    read_list,
)
from millrace.common.config.flink_options import OTHER_NAMES, WITHOUT_EFFECT, is_without_effect
from millrace.common.config.known_options import OPTIONS, is_checked_elsewhere
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.errors import ConfigurationError
from millrace.common.similar_names import did_you_mean, nearest_name

__all__ = [
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "OPTIONS",
]

T = TypeVar("T")


class Configuration:
    """Keys and values. Values keep their Python type; text is parsed where an option reads it.

    Example:
        >>> configuration = Configuration().set_string("parallelism.default", "2")
        >>> configuration.get(OPTIONS["parallelism.default"])
        2
        >>> Configuration({"parallelism.defualt": 2}).validate()
        Traceback (most recent call last):
        ...
        millrace.common.errors.ConfigurationError: unknown configuration key 'parallelism.defualt'; did you mean 'parallelism.default'?
    """  # noqa: E501 (a doctest shows the error on one line)

    def __init__(self, other: Configuration | Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {}
        self._origins: dict[str, SettingOrigin] = {}
        """Origins of values that do not come from the program."""
        if isinstance(other, Configuration):
            self._origins.update(other._origins)
        if other is not None:
            pairs = other._values if isinstance(other, Configuration) else other
            self._values.update((named_here(key), value) for key, value in pairs.items())

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """A configuration of the given pairs."""
        return cls(map)

    def get(self, option: ConfigOption[T]) -> T:
        """Value of an option, or its default.

        Raises:
            ConfigurationError: the value is not of the option's type.
        """
        value = self._values.get(option.key)
        return option.default if value is None else option.read(value)  # type: ignore[return-value]

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Set the value of an option, which is checked immediately."""
        self._values[option.key] = value if value is None else option.read(value)
        self._origins.pop(option.key, None)
        return self

    def origin(self, key: str) -> SettingOrigin:
        """Place from which the value of a key comes.

        Example:
            >>> defaults = Configuration({"parallelism.default": 2}).marked(SettingOrigin.FILE)
            >>> str(defaults.origin("parallelism.default")), str(defaults.origin("pipeline.name"))
            ('config.yaml', 'default')
        """
        key = named_here(key)
        if key not in self._values:
            return SettingOrigin.DEFAULT
        return self._origins.get(key, SettingOrigin.PROGRAM)

    def marked(self, origin: SettingOrigin) -> Configuration:
        """The same pairs, all marked with one origin."""
        marked = Configuration(self)
        marked._origins = dict.fromkeys(marked._values, origin)
        return marked

    def key_set(self) -> builtins.set[str]:
        """All keys."""
        return set(self._values)

    def validate(self) -> None:
        """Check every key and value; an environment calls it for its configuration.

        Raises:
            ConfigurationError: a key of ours is unknown (names the nearest), or a value is wrong.
        """
        for key, value in self._values.items():
            if key in OPTIONS:
                self.get(OPTIONS[key])
            elif not is_without_effect(key):
                refuse_unknown(key, value)

    def get_string(self, key: str, default_value: str | None = None) -> str | None:
        """The value as text, or the default."""
        value = self._values.get(named_here(key))
        return default_value if value is None else as_text(value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a text, which may also be the text of a number, duration or size."""
        return self._put(key, value)

    def get_integer(self, key: str, default_value: int | None = None) -> int | None:
        """The value as a whole number, or the default."""
        return self.get(ConfigOption(named_here(key), "number", default_value))

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a key to a whole number."""
        return self._put(key, value)

    def get_boolean(self, key: str, default_value: bool | None = None) -> bool | None:
        """The value as true or false, or the default."""
        return self.get(ConfigOption(named_here(key), "boolean", default_value))

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a key to true or false."""
        return self._put(key, value)

    def get_float(self, key: str, default_value: float | None = None) -> float | None:
        """The value as a floating point number, or the default."""
        return self.get(ConfigOption(named_here(key), "float", default_value))

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a floating point number."""
        return self._put(key, float(value))

    def get_bytearray(self, key: str, default_value: bytearray | None = None) -> bytearray | None:
        """The value as bytes, or the default."""
        value = self._values.get(named_here(key))
        if value is None:
            return default_value
        return bytearray(value.encode() if isinstance(value, str) else value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set the bytes of a key."""
        return self._put(key, bytearray(value))

    def contains_key(self, key: str) -> bool:
        """Whether the key has a value."""
        return named_here(key) in self._values

    def remove_config(self, key: str) -> bool:
        """Remove a key; False if it had no value."""
        self._origins.pop(named_here(key), None)
        return self._values.pop(named_here(key), None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Add all pairs of another configuration, with ``prefix`` before each key."""
        for key, value in other._values.items():
            name = named_here((prefix or "") + key)
            self._values[name] = value
            self._origins.pop(name, None)
            if key in other._origins:
                self._origins[name] = other._origins[key]
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Copy all pairs into the dict; values stay as they were set."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """All pairs as a dict, with values as text."""
        return {key: as_text(value) for key, value in self._values.items()}

    @staticmethod
    def parse_list_value(value: str | None, standard_yaml: bool = True) -> list[str]:
        """The items of a text such as ``"a;b"``, ``"[a, b]"`` or lines that begin with a dash.
        Without ``standard_yaml``, only the first form is read.

        Example:
            >>> Configuration.parse_list_value("[a.jar, b.jar]")
            ['a.jar', 'b.jar']
        """
        if not value:
            return []
        return read_list(value) if standard_yaml else value.split(";")

    def _put(self, key: str, value: Any) -> Configuration:
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f"a configuration key is a text, got {key!r}")
        if value is None:
            raise ConfigurationError(f"{key} cannot be None: use remove_config to unset it")
        self._values[named_here(key)] = value
        self._origins.pop(named_here(key), None)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __repr__(self) -> str:
        return f"Configuration({self.to_dict()})"

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key}={value}" for key, value in self.to_dict().items()) + "}"


def named_here(key: str) -> str:
    """Millrace's key for an option that has, or once had, another key in Flink."""
    return OTHER_NAMES.get(key, key)


def as_text(value: Any) -> str:
    """Text of a value that is parsed to the same value again."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (bytes, bytearray)):
        return value.decode()
    if isinstance(value, list):
        return "[" + ", ".join(quoted_part(str(item), ",") for item in value) + "]"
    if isinstance(value, dict):
        return ",".join(quoted_part(f"{key}:{item}", ",") for key, item in value.items())
    return str(value)


def refuse_unknown(key: str, value: Any) -> None:
    """Raise ConfigurationError for an unknown key that resembles one of millrace's keys; other
    programs' keys are accepted.
    """
    if is_checked_elsewhere(key):
        return
    ours = key.partition(".")[0] in {known.partition(".")[0] for known in OPTIONS}
    # A foreign key is refused only if it is very probably a misspelt one of ours.
    if not ours and nearest_name(key, OPTIONS, likeness=0.85) is None:
        return
    raise unknown_key(key, [*OPTIONS, *OTHER_NAMES, *WITHOUT_EFFECT])


def unknown_key(key: str, known: Iterable[str], where: str = "") -> ConfigurationError:
    """Error for an unknown key.

    Args:
        known: keys that may be meant.
        where: file and line of the key, for the beginning of the message.
    """
    hint = did_you_mean(key, known, "see the list in docs/configuration.md")
    return ConfigurationError(f"{where}unknown configuration key {key!r}{hint}")
