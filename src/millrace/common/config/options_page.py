"""The tables of the page on configuration, made from the registry of options."""

from __future__ import annotations

from typing import Any

from millrace.common.config.config_options import ConfigOption
from millrace.common.config.flink_options import OTHER_NAMES, WITHOUT_EFFECT
from millrace.common.config.known_options import OPTIONS

__all__ = ["options_as_markdown"]

_OTHERS = """
## Other names

Keys that Flink had, or has besides, for these options:

| key | option |
| --- | --- |
"""
_ACCEPTED = """
## Accepted without effect

A configuration of Flink's can be taken along: these keys are accepted, and nothing depends on them.
`*` stands for all keys that begin so and are not listed above.

| key | why |
| --- | --- |
"""


def options_as_markdown() -> str:
    """All options as Markdown tables, sorted by key."""
    rows = [_row(OPTIONS[key]) for key in sorted(OPTIONS)]
    table = ["| key | type | default | meaning |", "| --- | --- | --- | --- |", *rows, ""]
    others = [f"| `{key}` | `{here}` |\n" for key, here in sorted(OTHER_NAMES.items())]
    accepted = [f"| `{_shown(key)}` | {why} |\n" for key, why in sorted(WITHOUT_EFFECT.items())]
    return "\n".join(table) + _OTHERS + "".join(others) + _ACCEPTED + "".join(accepted)


def _row(option: ConfigOption[Any]) -> str:
    kind = " / ".join(f"`{choice}`" for choice in option.choices) or option.type_name
    default = f"`{option.default}`" if option.default not in (None, {}, []) else "none"
    return f"| `{option.key}` | {kind} | {default} | {option.description} |"


def _shown(key: str) -> str:
    return f"{key}*" if key.endswith(".") else key
