"""PyFlink's path of what is in `millrace.common.config.configuration`."""

from __future__ import annotations

from millrace.common.config.configuration import (
    OPTIONS,
    ConfigOption,
    ConfigOptions,
    Configuration,
    options_as_markdown,
)

__all__ = [
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "OPTIONS",
    "options_as_markdown",
]
