"""The prompt of ``millrace sql``: lines with history, completion and highlighting."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from pygments.lexers.sql import SqlLexer

from millrace.cli.sql_client.client import SqlClient
from millrace.cli.sql_client.completion import SqlCompleter
from millrace.cli.sql_client.statement_texts import divided

__all__ = ["converse"]


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
