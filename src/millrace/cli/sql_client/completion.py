"""Completion of names and keywords in a statement that a user types."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from millrace.common.errors import MillraceError
from millrace.sql.dialect.reserved_words import RESERVED
from millrace.table import TableEnvironment

__all__ = ["SqlCompleter"]

CLIENT_WORDS = ("CLEAR", "EXIT", "HELP", "QUIT", "SOURCE")


class SqlCompleter(Completer):
    """Completer that offers columns of the statement's tables first, then tables, functions and
    keywords."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._functions = t_env.list_functions()
        self._keywords = sorted({*RESERVED, *CLIENT_WORDS})

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Completions of the word before the cursor."""
        word = document.get_word_before_cursor()
        begun = word.lower()
        if not begun or not (begun[0].isalpha() or begun[0] == "_"):
            return
        tables = self._t_env.list_tables()
        groups = (
            ("column", self._columns(document.text, tables)),
            ("table", tables),
            ("keyword", self._keywords),
            ("function", self._functions),
        )
        for kind, names in groups:
            for name in names:
                if name.lower().startswith(begun):
                    shown = name.upper() if kind == "function" and word.isupper() else name
                    yield Completion(shown, -len(word), display_meta=kind)

    def _columns(self, text: str, tables: list[str]) -> list[str]:
        words = set(re.findall(r"\w+", text))
        found: set[str] = set()
        for table in words & set(tables):
            try:
                found.update(self._t_env.from_path(table).get_schema().get_field_names())
            except MillraceError:
                continue  # a view whose table is gone has no columns to offer
        return sorted(found)
