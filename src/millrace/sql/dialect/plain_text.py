"""Names and texts as Flink SQL writes them."""

from __future__ import annotations

import re

from sqlglot import exp

from millrace.common.types.logical.logical_type import quoted
from millrace.sql.dialect.reserved_words import RESERVED

__all__ = ["identifier_text", "string_text"]

_PLAIN_NAME = re.compile(r"[^\W\d][\w$]*")


def string_text(value: str) -> str:
    """The text in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def identifier_text(node: exp.Identifier) -> str:
    """The name, in backticks if it needs them or was written with them."""
    name = str(node.this)
    plain = _PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED
    return name if plain and not node.args.get("quoted") else quoted(name)
