"""What is typed: statements of several lines, completion, mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from millrace.cli.sql_client.client import SqlClient
from millrace.cli.sql_client.prompt import SqlCompleter, converse
from millrace.table import EnvironmentSettings, TableEnvironment

ORDERS = "CREATE TABLE orders (price BIGINT) WITH ('connector' = 'datagen')"


def environment() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def test_statements_of_several_lines_and_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = SqlClient(environment(), "tableau")
    history = tmp_path / "history"
    with create_pipe_input() as keys:
        keys.send_text("SHOW\rCATALOGS;\rSELECT a FORM t;\r\x03SHOW DATABASES;\rQUIT;\r")
        converse(client, history, keys, DummyOutput())
    shown = capsys.readouterr()
    assert "default_catalog" in shown.out
    assert "default_database" in shown.out
    assert "^^^^" in shown.err
    assert "+SHOW\n+CATALOGS;" in history.read_text()


def test_completion() -> None:
    t_env = environment()
    t_env.execute_sql(ORDERS)
    completer = SqlCompleter(t_env)

    def offered(text: str) -> dict[str, str]:
        document = Document(text)
        found = completer.get_completions(document, CompleteEvent())
        return {each.text: each.display_meta_text for each in found}

    assert offered("SELECT * FROM ord")["orders"] == "table"
    assert offered("SELECT * FROM orders WHERE pri")["price"] == "column"
    assert offered("SELEC")["SELECT"] == "keyword"
    assert offered("SELECT COUN")["COUNT"] == "function"
    assert offered("SELECT ") == {}
