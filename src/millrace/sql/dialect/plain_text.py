"""Names and texts as Flink SQL writes them."""

from __future__ import annotations

import re

from sqlglot import exp

from millrace.common.types.logical.logical_type import quoted
from millrace.sql.dialect.reserved_words import RESERVED

__all__ = ["identifier_text", "string_text"]

_PLAIN_NAME = re.compile(r"[^\W\d][\w$]*")


def string_text(value: str) -> str:
    """A text in quotes."""
    return "'" + value.replace("'", "''") + "'"


def identifier_text(node: exp.Identifier) -> str:
    """A name, in backticks where it needs them or had them."""
    name = str(node.this)
    plain = _PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED
    return name if plain and not node.args.get("quoted") else quoted(name)
