from __future__ import annotations

import logging

import pytest

from millrace.common import Configuration
from millrace.common.errors import ConfigurationError
from millrace.runtime.logs.log_settings import LogSettings


def test_levels_of_single_loggers() -> None:
    settings = LogSettings.of(
        Configuration(
            {
                "millrace.logging.level": "warning",
                "millrace.logging.levels": "tests.levels.a:DEBUG,tests.levels.b:error",
                "millrace.logging.format": "json",
            }
        )
    )
    assert (settings.level, settings.json) == ("WARNING", True)
    settings.apply_levels()
    assert logging.getLogger("tests.levels.a").level == logging.DEBUG
    assert logging.getLogger("tests.levels.b").level == logging.ERROR


@pytest.mark.parametrize("key", ["level", "levels"])
def test_unknown_levels(key: str) -> None:
    value = "loud" if key == "level" else "shop:loud"
    with pytest.raises(
        ConfigurationError, match=f"millrace.logging.{key}: 'loud' is not a log level"
    ):
        LogSettings.of(Configuration({f"millrace.logging.{key}": value}))
