"""Connectors, formats and catalogs of a package that knows Millrace, which does not know it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from millrace.table import TableEnvironment
from millrace.table.catalog.errors import CatalogError

MODULE = """
from millrace.common.sink import Sink, SinkWriter
from millrace.common.config.config_options import ConfigOptions
from millrace.common.types.batch import BatchForm
from millrace.formats.json_row import JsonRowDeserializationSchema, JsonRowSerializationSchema
from millrace.table.catalog import GenericInMemoryCatalog
from millrace.table.catalog.catalog_factories import CatalogFactory
from millrace.table.connectors import TableFactory
from millrace.table.formats.message_format import JsonFormat

PATH = ConfigOptions.key("path").string_type().no_default_value()

class Lines(Sink):
    def __init__(self, path):
        self.path = path

    def create_writer(self, context, state):
        return Writer(self.path)

class Writer(SinkWriter):
    def __init__(self, path):
        self.file = open(path, "a")

    def write(self, batch):
        for row in batch.values:
            self.file.write(" ".join(map(str, row)) + "\\n")

    def flush(self, end_of_input):
        self.file.flush()

    def close(self):
        self.file.close()

class LinesFactory(TableFactory):
    identifier = "lines2"
    required = (PATH,)

    def create_sink(self, request, options):
        return Lines(options.get(PATH))

class Json2(JsonFormat):
    pass

class Catalogs(CatalogFactory):
    optional = ("color",)

    def create(self, name, default_database, options):
        return GenericInMemoryCatalog(name, options["color"])
"""
POINTS = """
[millrace.connectors]
lines2 = lines2_table:LinesFactory
worn2 = lines2_table:Worn

[millrace.formats]
json2 = lines2_table:Json2

[millrace.catalogs]
colors = lines2_table:Catalogs
"""


@pytest.fixture
def env(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_env: TableEnvironment
) -> TableEnvironment:
    (tmp_path / "lines2_table.py").write_text(MODULE)
    info = tmp_path / "lines2-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lines2\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lines2_table", raising=False)
    return batch_env


def run(env: TableEnvironment, *statements: str) -> Any:
    for statement in statements:
        result = env.execute_sql(statement)
        result.wait()
    return result


def test_a_connector(env: TableEnvironment, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    options = f"'connector' = 'lines2', 'path' = '{path}'"
    insert = "INSERT INTO words VALUES (1, 'a'), (2, 'b')"
    run(env, f"CREATE TABLE words (n INT, word STRING) WITH ({options})", insert)
    assert sorted(path.read_text().splitlines()) == ["1 a", "2 b"]


def test_a_format(env: TableEnvironment, tmp_path: Path) -> None:
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path}/t', 'format' = 'json2'"
    run(env, f"CREATE TABLE t (n INT) WITH ({options})", "INSERT INTO t VALUES (7)")
    [written] = [file for file in (tmp_path / "t").iterdir() if not file.name.startswith(".")]
    assert json.loads(written.read_text()) == {"n": 7}


def test_a_catalog(env: TableEnvironment) -> None:
    run(env, "CREATE CATALOG c WITH ('type' = 'colors', 'color' = 'red')", "USE CATALOG c")
    assert env.get_current_database() == "red"
    with pytest.raises(CatalogError, match="no option 'colour'; did you mean 'color'"):
        run(env, "CREATE CATALOG d WITH ('type' = 'colors', 'colour' = 'red')")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'connector' = 'line2'", "there is no connector 'line2'; did you mean 'lines2'"),
        ("'connector' = 'file-options'", "there is no connector 'file-options'"),
        (
            "'connector' = 'worn2'",
            "connector 'worn2' of lines2 0.3 .* cannot be loaded: AttributeError.*'Worn'",
        ),
        (
            "'connector' = 'zzz'",
            "'zzz'; there are .*lines2.* entry point group millrace.connectors",
        ),
    ],
)
def test_what_is_wrong_is_told(env: TableEnvironment, options: str, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        run(env, f"CREATE TABLE t (n INT) WITH ({options})", "INSERT INTO t VALUES (7)")
