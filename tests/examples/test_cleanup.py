"""The clean-up of CSV files: killed, resumed, upgraded; every line ends in one place."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas
import pyarrow.dataset
import pyarrow.parquet
import pytest
from application import EXAMPLES, Application
from exports import ARTICLES, HEADER, deliver, files

pytestmark = [pytest.mark.spark, pytest.mark.fault]

REGIONS = {"BE": "Benelux", "DE": "Middle", "FR": "West", "NL": "Benelux"}
Place = tuple[str, int]
"""A file, and the byte at which a line begins."""


@pytest.mark.turns(7)
def test_every_line_ends_in_one_place(spark: Any, tmp_path: Path) -> None:
    """Export 1 with kill -9 in the middle; export 2; an upgrade; export 3."""
    live_through(Application(tmp_path, "cleanup"))
    directory = tmp_path / "results/orders"
    read = spark.read.option("mergeSchema", True).parquet(str(directory))
    ours = {(row["file"], row["offset"]) for row in parquet(directory)}
    assert {(row.file, row.offset) for row in read.select("file", "offset").collect()} == ours
    frame = pandas.read_parquet(directory / "day=2025-03-03", columns=["order"])
    assert len(frame) == sum(row["day"] == "2025-03-03" for row in parquet(directory))


def live_through(application: Application) -> None:
    directory = application.directory

    def lines(*exports: int) -> int:
        return sum(1 for _ in places(*exports))

    def written() -> int:
        names = "dead", "duplicates"
        other = sum(len(application.written(name)) for name in names)
        parts = (directory / "results/orders").rglob("part-*")
        return other + sum(rows_in(part) for part in parts)

    with application:
        arrive(directory, 1)
        application.start_process("cleanup/cleanup.py")
        application.wait_for(lambda: written() > 0)
        application.kill()

        application.start("cleanup/cleanup.py", resume=True)
        application.wait_for(lambda: written() == lines(1))
        arrive(directory, 2)
        application.wait_for(lambda: written() == lines(1, 2))
        savepoint = application.stop()

        table = (EXAMPLES / "cleanup/regions.csv").read_bytes()
        deliver(directory / "countries", "regions.csv", table)
        application.start("cleanup/cleanup_2.py", parallelism=3, savepoint=savepoint)
        # an order that is quicker than the table has no region
        application.wait_for(lambda: application.progress().get("records") == len(REGIONS))
        arrive(directory, 3)
        application.wait_for(lambda: written() == lines(1, 2, 3))
        application.stop()
        check(application)


def check(application: Application) -> None:
    """Compare what is in the files with a loop over all lines."""
    orders = parquet(application.directory / "results/orders")
    dead, duplicates = application.written("dead"), application.written("duplicates")
    everything = Counter((one["file"], one["offset"]) for one in (*orders, *dead, *duplicates))
    assert everything == Counter(place for place, _ in places(1, 2, 3))

    good = {place: fields for place, text in places(1, 2, 3) if (fields := parsed(place, text))}
    assert {(one["file"], one["offset"]) for one in dead} == set(dict(places(1, 2, 3))) - set(good)
    copies = Counter(fields["order"] for fields in good.values())
    assert Counter(one["order"] for one in orders) == Counter(dict.fromkeys(copies, 1))
    assert len(duplicates) == sum(copies.values()) - len(copies) > 20
    for one in orders:
        fields = good[one["file"], one["offset"]]
        new = one["file"].startswith("export-3")
        assert one["region"] == (REGIONS[one["country"]] if new else None)
        assert {name: fields[name] for name in ("order", "day", "country", "note")} == {
            name: one[name] for name in ("order", "day", "country", "note")
        }
        assert one["amount"] == float(fields["amount"])
    assert {one["article"] for one in orders} == {"Fountain pen", "Desk lamp", "Office chair"}
    for one in duplicates:
        assert one.get("copy", 0) > 0 or not one["file"].startswith("export-3")


def arrive(directory: Path, export: int) -> None:
    for name, content in files(export).items():
        deliver(directory / "inbox", name, content)


def places(*exports: int) -> Iterator[tuple[Place, bytes]]:
    """Each line, and where it stands."""
    for export in exports:
        for name, content in files(export).items():
            offset = len(HEADER)
            for line in content[offset:].splitlines(keepends=True):
                yield (name, offset), line
                offset += len(line)


def parsed(place: Place, line: bytes) -> dict[str, str] | None:
    """The fields of an order; None if it makes no sense."""
    most = 5_000 if place[0].startswith("export-3") else 10_000
    try:
        [fields] = csv.reader(io.StringIO(line.decode()), strict=True)
        order, at, country, article, amount, note = fields
    except (ValueError, csv.Error):
        return None
    known = article in ARTICLES and "no such day" not in note
    if not known or not amount.replace(".", "").isdigit() or float(amount) > most:
        return None
    return {"order": order, "day": at[:10], "country": country, "amount": amount, "note": note}


@cache
def rows_in(part: Path) -> int:
    """Number of rows of a Parquet file: files that can be seen never change."""
    return int(pyarrow.parquet.read_metadata(part).num_rows)


def parquet(directory: Path) -> list[dict[str, Any]]:
    """All rows, with the columns that are in the names of the directories."""
    partition = pyarrow.dataset.partitioning(flavor="hive")
    parts = [str(path) for path in directory.rglob("part-*")]
    schemas = [pyarrow.parquet.read_schema(part) for part in parts]
    found = pyarrow.dataset.dataset(
        directory,
        partitioning=partition,
        schema=pyarrow.unify_schemas(
            [*schemas, pyarrow.schema([("day", pyarrow.string()), ("country", pyarrow.string())])]
        ),
    )
    rows: list[dict[str, Any]] = found.to_table().to_pylist()
    return rows
