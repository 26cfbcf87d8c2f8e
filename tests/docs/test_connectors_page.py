"""Programs of the page on connectors that need Spark or a server; the others: test_printed.py."""

from __future__ import annotations

import inspect
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millrace.connectors import DataGeneratorSource
from millrace.connectors.file_sink import BulkFormatBuilder, RowFormatBuilder
from millrace.connectors.file_source import FileSourceBuilder
from millrace.connectors.output_file_config import OutputFileConfigBuilder
from millrace.datastream.formats.avro import AvroInputFormat
from millrace.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from millrace.datastream.formats.json import JsonRowDeserializationSchema
from millrace.formats import (
    CsvSchemaBuilder,
    OrcBulkWriters,
    OrcColumnarRowInputFormat,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from millrace.testing import run_local

DOCS = Path(__file__).parents[2] / "docs/connectors"
PAGE = (DOCS / "index.md").read_text(encoding="utf-8")
FORMATS = (DOCS / "formats.md").read_text(encoding="utf-8")


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


@pytest.mark.parametrize(
    ("page", "builder", "unsaid"),
    [
        (PAGE, FileSourceBuilder, {"build"}),
        (PAGE, RowFormatBuilder, {"build"}),
        (PAGE, BulkFormatBuilder, {"build"}),
        (PAGE, OutputFileConfigBuilder, {"build"}),
        (FORMATS, CsvSchemaBuilder, {"build"}),
        (FORMATS, CsvRowSerializationSchema.Builder, {"build"}),
        (FORMATS, CsvRowDeserializationSchema.Builder, {"build", "of_table"}),
        (FORMATS, JsonRowDeserializationSchema.Builder, {"build"}),
    ],
)
def test_every_option_is_on_its_page(page: str, builder: type, unsaid: set[str]) -> None:
    """A new method of a builder needs a line on docs/connectors/index.md or formats.md."""
    options = {name for name in dir(builder) if not name.startswith("_")} - unsaid
    assert {name for name in options if f"{name}(" not in page and f"`{name}`" not in page} == set()


@pytest.mark.parametrize(
    ("page", "function"),
    [
        (PAGE, DataGeneratorSource),
        (FORMATS, AvroInputFormat),
        (FORMATS, ParquetColumnarRowInputFormat),
        (FORMATS, OrcBulkWriters.for_row_type),
        (FORMATS, OrcColumnarRowInputFormat),
        (FORMATS, ParquetBulkWriters.for_row_type),
    ],
)
def test_every_argument_is_on_its_page(page: str, function: Callable[..., object]) -> None:
    arguments = inspect.signature(function).parameters
    assert [name for name in arguments if f"`{name}`" not in page] == []
