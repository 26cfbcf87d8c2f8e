"""Typed options."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.config.memory_size import MemorySize
from millrace.common.errors import ConfigurationError
from millrace.common.time import Duration

KEY = ConfigOptions.key("user.x")
GOOD = [
    (KEY.boolean_type(), "TRUE", True),
    (KEY.boolean_type(), False, False),
    (KEY.int_type(), "12", 12),
    (KEY.long_type(), 12, 12),
    (KEY.float_type(), "1.5", 1.5),
    (KEY.double_type(), 2, 2.0),
    (KEY.string_type(), "a", "a"),
    (KEY.duration_type(), "2 h", Duration.of_hours(2)),
    (KEY.duration_type(), 250, Duration.of_millis(250)),
    (KEY.duration_type(), timedelta(seconds=1), Duration.of_seconds(1)),
    (KEY.memory_type(), "1 mb", MemorySize.of_mebi_bytes(1)),
    (KEY.memory_type(), MemorySize(5), MemorySize(5)),
    (KEY.map_type(), "a:1, b:x:y", {"a": "1", "b": "x:y"}),
    (KEY.map_type(), {"a": 1}, {"a": "1"}),
]
BAD = [
    (KEY.boolean_type(), "yes"),
    (KEY.int_type(), "1.5"),
    (KEY.int_type(), 1.0),
    (KEY.int_type(), True),
    (KEY.float_type(), "fast"),
    (KEY.duration_type(), "soon"),
    (KEY.memory_type(), "much"),
    (KEY.map_type(), "a=1"),
]


@pytest.mark.parametrize(("builder", "value", "expected"), GOOD)
def test_values_are_read(builder: Any, value: Any, expected: Any) -> None:
    """From their text or as they are."""
    typed = builder.no_default_value().read(value)
    assert typed == expected
    assert type(typed) is type(expected)


@pytest.mark.parametrize(("builder", "value"), BAD)
def test_wrong_values_are_refused(builder: Any, value: Any) -> None:
    """The error names the key, the type and the value."""
    with pytest.raises(ConfigurationError, match=r"user.x must be a .*, got "):
        builder.no_default_value().read(value)


def test_bounds() -> None:
    """Numbers and durations."""
    with pytest.raises(ConfigurationError, match=r"user.x must be at least 1, got 0"):
        KEY.int_type().default_value(1).at_least(1).read(0)
    with pytest.raises(ConfigurationError, match=r"user.x must be at least 10 ms, got"):
        KEY.duration_type().no_default_value().at_least(10).read("5 ms")
    with pytest.raises(ConfigurationError, match="at least 2, got"):
        KEY.memory_type().no_default_value().at_least(2).read("1 b")


def test_words() -> None:
    """In any case, but only those allowed."""
    option = KEY.string_type().default_value("ONE").one_of("ONE", "TWO")
    assert option.read("two") == "TWO"
    with pytest.raises(ConfigurationError, match=r"user.x must be one of ONE, TWO, got 'three'"):
        option.read("three")


def test_an_option_is_a_value() -> None:
    """Immutable, with a description."""
    option = KEY.int_type().default_value(3).with_description("how many")
    assert option == ConfigOption("user.x", "number", 3, "how many")
