"""Tables over files in directories of partitions: columns in paths, pruning, metadata, marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import TableEnvironment

COLUMNS = "dt DATE, id INT, shop STRING"


def declare(t_env: TableEnvironment, path: Path, text: str, columns: str = COLUMNS) -> None:
    t_env.execute_sql(
        f"CREATE TABLE files ({columns}) PARTITIONED BY (dt, shop) WITH "
        f"('connector' = 'filesystem', 'path' = '{path}', {text})"
    )


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, t_env.execute_sql(query).collect()), key=str)


VALUES = (
    "(DATE '2024-02-29', 1, 'a/b'), (DATE '2024-02-29', 2, 'c'), "
    "(CAST(NULL AS DATE), 3, CAST(NULL AS STRING)), (DATE '2024-03-01', 4, 'c')"
)
FORMATS = ["csv", "json", "parquet", "orc", "avro", "debezium-json"]


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read_again(t_env: TableEnvironment, tmp_path: Path, name: str) -> None:
    declare(t_env, tmp_path / "t", f"'format' = '{name}'")
    t_env.execute_sql(f"INSERT INTO files VALUES {VALUES}").wait()
    written = {str(each.parent.relative_to(tmp_path / "t")) for each in tmp_path.rglob("part-*")}
    assert written == {
        "dt=2024-02-29/shop=a%2Fb",
        "dt=2024-02-29/shop=c",
        "dt=2024-03-01/shop=c",
        "dt=__HIVE_DEFAULT_PARTITION__/shop=__HIVE_DEFAULT_PARTITION__",
    }
    expected = rows(t_env, f"SELECT * FROM (VALUES {VALUES}) AS t(dt, id, shop)")
    assert rows(t_env, "SELECT * FROM files") == expected
    assert rows(t_env, "SELECT id FROM files WHERE shop = 'c'") == [(2,), (4,)]
    assert rows(t_env, "SELECT shop FROM files WHERE id < 3") == [("a/b",), ("c",)]
    assert rows(t_env, "SELECT COUNT(*) FROM files")[-1] == (4,)
    counts = rows(t_env, "SELECT shop, MAX(id) FROM files WHERE shop <> 'x' GROUP BY shop")
    assert counts[-2:] == [("a/b", 1), ("c", 4)]


def test_partitions_that_are_not_wanted_are_not_opened(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    declare(t_env, tmp_path, "'format' = 'json'")
    t_env.execute_sql(
        "INSERT INTO files PARTITION (shop = 'c') VALUES (DATE '2024-02-29', 1)"
    ).wait()
    broken = tmp_path / "dt=2024-03-01" / "shop=d"
    broken.mkdir(parents=True)
    (broken / "x.json").write_text("nonsense\n")
    query = "SELECT id FROM files WHERE shop IN ('c', 'e') AND id > 0"
    assert "files], filter=[IN(shop, 'c', 'e')]]" in t_env.explain_sql(query)
    assert rows(t_env, query) == [(1,)]
    assert rows(t_env, "SELECT id FROM files WHERE dt < DATE '2024-03-01' AND shop = 'c'") == [(1,)]
    with pytest.raises(Exception, match="nonsense"):
        rows(t_env, "SELECT id FROM files WHERE id > 0")


@pytest.mark.parametrize("name", ["raw", "csv", "parquet", "orc", "avro"])
def test_metadata_of_files(t_env: TableEnvironment, tmp_path: Path, name: str) -> None:
    t_env.execute_sql(
        "CREATE TABLE words (word STRING, `file.name` STRING METADATA VIRTUAL, place STRING "
        "METADATA FROM 'file.path' VIRTUAL, size BIGINT METADATA FROM 'file.size' VIRTUAL, at_time "
        "TIMESTAMP_LTZ(3) METADATA FROM 'file.modification-time' VIRTUAL) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{name}')"
    )
    t_env.execute_sql("INSERT INTO words VALUES ('to'), ('be')").wait()
    [file] = tmp_path.glob("part-*")
    found = rows(t_env, "SELECT * FROM words")
    assert [row[:4] for row in found] == [
        (word, file.name, str(file), file.stat().st_size) for word in ("be", "to")
    ]
    assert abs(found[0][4].timestamp() - file.stat().st_mtime) < 0.01
    assert rows(t_env, "SELECT DISTINCT `file.name` FROM words") == [(file.name,)]


def test_a_partition_whose_rows_are_there_is_marked(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    more = "'format' = 'csv', 'sink.partition-commit.policy.kind' = 'success-file'"
    declare(t_env, tmp_path, f"{more}, 'sink.partition-commit.success-file.name' = '_DONE'")
    t_env.execute_sql(f"INSERT INTO files VALUES {VALUES}").wait()
    parts = {each.parent for each in tmp_path.rglob("part-*")}
    assert {each.parent for each in tmp_path.rglob("_DONE")} == parts
    assert len(rows(t_env, "SELECT * FROM files")) == 4


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_of_several_checkpoints_are_joined(
    form: str, t_env: TableEnvironment, tmp_path: Path
) -> None:
    text = f"'format' = '{form}', 'auto-compaction' = 'true', 'compaction.file-size' = '1 mb'"
    declare(t_env, tmp_path, text)
    t_env.execute_sql(
        "CREATE TABLE numbers (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '300', "
        "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '300')"
    )
    t_env.execute_sql("INSERT INTO files SELECT DATE '2024-02-29', id, 'a' FROM numbers").wait()
    assert rows(t_env, "SELECT COUNT(*) FROM files")[-1] == (300,)


@pytest.mark.parametrize(
    ("columns", "text", "error"),
    [
        (COLUMNS, "'format' = 'json', 'parquet.compression' = 'zstd'", "no option 'parquet.com"),
        (COLUMNS, "'format' = 'orc', 'compaction.file-size' = '1 kb'", "needs 'auto-compaction'"),
        (COLUMNS, "'format' = 'parquet', 'parquet.compression' = 'zip'", "zip"),
        (COLUMNS, "'format' = 'csv', 'compaction.file-size' = '1 kb'", "needs 'auto-compaction'"),
        (f"{COLUMNS}, x MAP<INT, INT>", "'format' = 'avro'", "column x: .* Avro"),
        (f"{COLUMNS}, x INT METADATA", "'format' = 'avro'", "METADATA|metadata"),
        ("dt DATE, shop STRING", "'format' = 'csv'", "no column that its files could contain"),
    ],
)
def test_what_cannot_be_is_refused(
    t_env: TableEnvironment, tmp_path: Path, columns: str, text: str, error: str
) -> None:
    declare(t_env, tmp_path, text, columns)
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("INSERT INTO files SELECT * FROM files")


def test_a_static_partition_keeps_its_sign(batch_env: TableEnvironment, tmp_path: Path) -> None:
    batch_env.execute_sql(
        "CREATE TABLE signed (a INT, d INT) PARTITIONED BY (d) WITH "
        f"('connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path / 'signed'}')"
    )
    batch_env.execute_sql("INSERT INTO signed PARTITION (d = -1) SELECT 5").wait()
    assert [tuple(row) for row in batch_env.execute_sql("SELECT * FROM signed").collect()] == [
        (5, -1)
    ]
