"""Programs of the page on connectors that need Spark or a server; the others: test_printed.py."""

from __future__ import annotations

import re
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from millrace.testing import run_local

PAGE = (Path(__file__).parents[2] / "docs/connectors/index.md").read_text(encoding="utf-8")


def run(title: str, **changed: str) -> None:
    [head] = re.findall(r"```python\n(from pathlib.*?)```", PAGE, re.DOTALL)
    [program] = re.findall(rf'```python title="{title}"\n(.*?)```', PAGE, re.DOTALL)
    for old, new in changed.items():
        assert old.removeprefix("_") in program
        program = program.replace(old.removeprefix("_"), new)
    with run_local():
        exec(compile(head + program, "connectors/index.md", "exec"), {"__name__": "__main__"})


@pytest.mark.spark
def test_a_dataframe(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run("with Spark")
    printed = capsys.readouterr().out.splitlines()
    assert sorted(printed) == [
        "Row(customer='ada', amount=3)",
        "Row(customer='ada', amount=7)",
        "Row(customer='bob', amount=5)",
    ]


def test_a_socket(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("localhost", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"one\r\ntwo\n")

        thread = threading.Thread(target=serve)
        thread.start()
        run("with a server", _9999=str(server.getsockname()[1]))
        thread.join()
    assert capsys.readouterr().out == "one\ntwo\n"
