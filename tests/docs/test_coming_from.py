"""The programs on the pages for newcomers run, and give what the pages say."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from millrace.testing import run_local

DOCS = Path(__file__).parents[2] / "docs"


def block(page: str, title: str) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    [found] = re.findall(rf'```\w+ title="{title}"\n(.*?)```', text, re.DOTALL)
    return str(found)


def test_a_pyflink_program_runs_with_another_prefix() -> None:
    theirs, ours = (block("coming-from-pyflink.md", name) for name in ("PyFlink", "Millrace"))
    assert theirs.replace("from pyflink.", "from millrace.") == ours


def test_it_prints_what_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "sales.py"
    program.write_text(block("coming-from-pyflink.md", "Millrace"), encoding="utf-8")
    with run_local():
        runpy.run_path(str(program), run_name="__main__")
    text = (DOCS / "coming-from-pyflink.md").read_text(encoding="utf-8")
    assert f"$ millrace run sales.py\n{capsys.readouterr().out}```" in text


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    page = "coming-from-structured-streaming.md"
    (tmp_path / "sales").mkdir()
    for file, title in (
        ("sales/1.json", "sales/1.json"),
        ("theirs.py", "Structured Streaming"),
        ("ours.py", "Millrace"),
    ):
        (tmp_path / file).write_text(block(page, title), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(directory: Path) -> Iterator[dict[str, Any]]:
    for path in directory.rglob("[!._]*"):
        if path.is_file() and "_spark_metadata" not in path.parts:
            yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def totals(directory: Path) -> list[tuple[str, int]]:
    return sorted((line["shop"], line["total"]) for line in written(directory))


def test_the_program_on_millrace(sales: Path) -> None:
    with run_local():
        runpy.run_path("ours.py", run_name="__main__")
    assert totals(sales / "totals") == [("north", 15), ("north", 20), ("south", 7)]
    first = datetime.fromisoformat("2026-01-01T00:00:00Z").timestamp() * 1000
    starts = {line["start"] - first for line in written(sales / "totals")}
    assert starts == {0, 30_000}
    lines = [line for path in (sales / "totals").rglob("part-*") for line in path.open()]
    shown = (DOCS / "coming-from-structured-streaming.md").read_text(encoding="utf-8")
    assert f"$ sort totals/*/part-*\n{''.join(sorted(lines))}```" in shown


@pytest.mark.turns(7)
@pytest.mark.spark
def test_the_program_on_structured_streaming(sales: Path, spark: Any) -> None:
    program = sales / "theirs.py"
    text = program.read_text(encoding="utf-8")
    for name in ("sales", "totals", "checkpoints"):
        # the JVM has been started elsewhere
        text = text.replace(f'"{name}"', repr(str(sales / name)))
    program.write_text(text, encoding="utf-8")
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        runpy.run_path(str(program), run_name="__main__")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    assert totals(sales / "totals") == [("north", 15), ("south", 7)]
