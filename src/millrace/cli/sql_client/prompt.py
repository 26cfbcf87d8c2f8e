"""The prompt of ``millrace sql``: lines with history, highlighting, and completion of names and
keywords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from pygments.lexers.sql import SqlLexer

from millrace.cli.sql_client.client import SqlClient
from millrace.cli.sql_client.statement_texts import divided
from millrace.common.errors import MillraceError
from millrace.sql.dialect.reserved_words import RESERVED
from millrace.table import TableEnvironment

__all__ = ["SqlCompleter", "converse"]


def converse(
    client: SqlClient, history: Path, given: Input | None = None, shown: Output | None = None
) -> None:
    """Execute the statements that a user types, until QUIT or Ctrl-D.

    Args:
        given, shown: the terminal; None: that of this process.
    """
    session: PromptSession[str] = PromptSession(
        "Flink SQL> ",
        multiline=True,
        prompt_continuation="> ",
        history=FileHistory(str(history)),
        auto_suggest=AutoSuggestFromHistory(),
        completer=SqlCompleter(client.t_env),
        complete_while_typing=Condition(lambda: False),
        lexer=PygmentsLexer(SqlLexer),
        key_bindings=_keys(),
        input=given,
        output=shown,
    )
    while not client.ended:
        try:
            client.execute_all(session.prompt())
        except KeyboardInterrupt:
            continue  # what was typed is dropped, or the query was cancelled
        except EOFError:
            break


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        """Accept whole statements; within a statement begin another line."""
        buffer = event.current_buffer
        _, rest = divided(buffer.text)
        if rest or not buffer.text.strip():
            buffer.insert_text("\n" if rest else "")
        else:
            buffer.validate_and_handle()

    return keys


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
        columns: set[str] = set()
        for table in words & set(tables):
            try:
                columns.update(self._t_env.from_path(table).get_schema().get_field_names())
            except MillraceError:
                continue  # a view whose table is gone has no columns to offer
        return sorted(columns)
