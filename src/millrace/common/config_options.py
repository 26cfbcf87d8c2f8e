"""PyFlink's path of what is in `millrace.common.config.config_options`."""

from __future__ import annotations

from millrace.common.config.config_options import (
    ConfigOption,
    ConfigOptions,
    OptionBuilder,
    TypedConfigOptionBuilder,
)

__all__ = [
    "ConfigOption",
    "ConfigOptions",
    "OptionBuilder",
    "TypedConfigOptionBuilder",
]
