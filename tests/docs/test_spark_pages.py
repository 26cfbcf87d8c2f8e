"""The pages about Spark, Delta Lake and Iceberg: their programs run as they stand there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog

from millrace.common import Configuration
from millrace.connectors.delta import DeltaSink, DeltaSource
from millrace.connectors.iceberg import IcebergSink, IcebergSource
from millrace.connectors.spark import SparkSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing import run_local

DOCS = Path(__file__).parents[2] / "docs" / "connectors"


def program(page: str) -> dict[str, Any]:
    text = (DOCS / page).read_text(encoding="utf-8")
    [code] = re.findall(r"```python(?: title=\"digits.py\")?\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, page, "exec"), names)
    return names


@pytest.mark.turns(7)
@pytest.mark.spark
def test_digits(spark: Any, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    program("spark.md")["count_digits"](env, spark, str(tmp_path / "table"))
    found = spark.read.parquet(str(tmp_path / "table")).collect()
    assert sorted((row["digit"], row["count"]) for row in found) == [(n, 100) for n in range(10)]


@pytest.mark.spark
def test_a_stream_of_spark(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS / "spark.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```\w+ title=\"([^\"]+)\"\n(.*?)```", text, re.DOTALL))
    (tmp_path / "clicks").mkdir()
    (tmp_path / "clicks/1.json").write_text(blocks["clicks/1.json"], encoding="utf-8")
    # the JVM has been started elsewhere
    code = blocks["pages.py"].replace('"clicks"', repr(str(tmp_path / "clicks")))
    settings = {
        "millrace.available-now": "true",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
    }
    launcher = JobLauncher(settings=Configuration(settings))
    monkeypatch.setattr(JobLauncher, "_current", launcher)
    exec(compile(code, "pages.py", "exec"), {"__name__": "page"})
    assert f"--available-now pages.py\n{capsys.readouterr().out}```" in text


def test_orders_per_day(tmp_path: Path) -> None:
    orders, days = str(tmp_path / "orders"), str(tmp_path / "days")
    write_deltalake(orders, pa.table({"id": [1, 2, 3], "day": ["mon", "tue", "mon"]}))
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        program("delta.md")["count_orders"](env, orders, days)
    rows = DeltaTable(days).to_pyarrow_table().to_pylist()
    assert {row["day"]: row["orders"] for row in rows} == {"mon": 2, "tue": 1}


def test_orders_per_day_in_iceberg(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    where = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/tables"}
    properties = {"type": "sql", **where}
    catalog = load_catalog(None, **properties)
    catalog.create_namespace("shop")
    orders = pa.table({"id": [1, 2, 3], "day": ["mon", "tue", "mon"]})
    catalog.create_table("shop.orders", orders.schema).append(orders)
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        program("iceberg.md")["count_orders"](env, properties)
    rows = catalog.load_table("shop.days").scan().to_arrow().to_pylist()
    assert {row["day"]: row["orders"] for row in rows} == {"mon": 2, "tue": 1}


@pytest.mark.parametrize(
    ("page", "function"),
    [
        ("spark.md", StreamExecutionEnvironment.from_spark),
        ("spark.md", SparkSink),
        ("delta.md", DeltaSink),
        ("delta.md", DeltaSource),
        ("iceberg.md", IcebergSink),
        ("iceberg.md", IcebergSource),
    ],
)
def test_every_argument_is_on_its_page(page: str, function: Callable[..., object]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    names = set(inspect.signature(function).parameters) - {"self"}
    assert {name for name in names if f"| `{name}` |" not in text} == set()
