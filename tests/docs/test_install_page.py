"""What the page on installing says of versions and extras is what pyproject.toml has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import connector_pages

ROOT = Path(__file__).parents[2]
PAGE = connector_pages.expanded((ROOT / "docs/install.md").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def test_every_extra_is_on_the_page() -> None:
    assert set(re.findall(r"pip install 'millrace\[([\w-]+)\]'", PAGE)) == set(EXTRAS) - {"dev"}


def test_versions() -> None:
    [line] = re.findall(r"\| Python \| (.*?), on", PAGE)
    pythons = re.findall(r"3\.\d+", line)
    classifiers = " ".join(PROJECT["classifiers"])
    assert pythons == re.findall(r":: (3\.\d+)", classifiers)
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert "pyspark>=4.0,<5" in PROJECT["dependencies"]
    assert "PySpark 4.0 or a later 4.x" in PAGE
    [java] = re.findall(r"\| Java \| (\d+) or newer", PAGE)
    assert f"JAVA_MINIMUM={java}" in (ROOT / "scripts/setup.sh").read_text(encoding="utf-8")


def test_no_extra_brings_a_pandas_that_pyspark_warns_of() -> None:
    """PySpark 4.3 warns of pandas 3 (pyspark.sql.pandas.utils)."""
    needed = [need for needs in EXTRAS.values() for need in needs if need.startswith("pandas")]
    assert needed
    assert all(need.endswith(",<3") for need in needed)
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert re.search(r"^pandas==2\.", constraints, re.MULTILINE)
