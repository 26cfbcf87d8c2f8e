"""The inner names of Spark that this room uses are there, in the Spark that is installed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millrace.spark
from millrace.spark.inner_names import (
    INNER_NAMES,
    InnerName,
    Need,
    missing_in_java,
    missing_in_python,
)

ROOM = Path(millrace.spark.__file__).parent
SPARKS = {"context", "_context", "SparkContext", "rdd", "dataframe"}
"""Names of variables and attributes that hold objects of PySpark."""


def told(missing: list[InnerName]) -> str:
    import pyspark

    names = ", ".join(map(str, missing))
    return f"PySpark {pyspark.__version__} lacks {names}" if missing else ""


def test_the_installed_pyspark_has_all() -> None:
    assert told(missing_in_python()) == ""


@pytest.mark.spark
def test_the_installed_spark_has_all(spark: Any) -> None:
    assert told(missing_in_java(spark.sparkContext._jvm)) == ""


@pytest.mark.spark
def test_a_missing_name_is_told(spark: Any) -> None:
    names = (
        InnerName("org.apache.spark.SparkContext", "noSuchMethod", Need.ALL, in_java=True),
        InnerName("org.apache.spark.NoSuchClass", "isStopped", Need.ALL, in_java=True),
    )
    assert missing_in_java(spark.sparkContext._jvm, names) == list(names)
    names = (
        InnerName("pyspark.core.context:SparkContext", "_no_such", Need.ALL),
        InnerName("pyspark.core.context:SparkContext", "_no_such", Need.ALL, of_objects=True),
        InnerName("pyspark.core.no_such", "name", Need.ALL),
    )
    assert missing_in_python(names) == list(names)


def private_names(path: Path) -> Iterator[str]:
    """Private names of PySpark in a module: attributes of its objects, and what is imported."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyspark"):
            yield from (name.name for name in node.names if name.name.startswith("_"))
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if name in SPARKS:
                yield node.attr


def test_every_private_name_of_this_room_is_listed() -> None:
    listed = {name.name for name in INNER_NAMES}
    used = {name for path in ROOM.rglob("*.py") for name in private_names(path)}
    assert used - listed == set()
    assert {"_jsc", "_jdf", "_wrap_function"} <= used
