"""Files as tables: what is written is read again, with every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import TableEnvironment

COLUMNS = (
    "id BIGINT, name STRING, price DECIMAL(10, 2), ok BOOLEAN, born DATE, happened TIMESTAMP(3), "
    "seen TIMESTAMP_LTZ(3), size DOUBLE"
)
VALUES = (
    "(1, 'a,\"b\"', 2.50, TRUE, DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03.004', "
    "TO_TIMESTAMP_LTZ(1, 3), 1.5E0), "
    "(2, CAST(NULL AS STRING), 0.01, FALSE, DATE '1969-01-01', TIMESTAMP '1969-01-01 00:00:00', "
    "TO_TIMESTAMP_LTZ(-1, 3), -1.0E10)"
)


def declare(t_env: TableEnvironment, path: Path, text: str, columns: str = COLUMNS) -> None:
    t_env.execute_sql(
        f"CREATE TABLE files ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', "
        f"{text})"
    )


def rows(t_env: TableEnvironment, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in t_env.execute_sql(query).collect())


@pytest.mark.parametrize("name", ["csv", "json", "parquet", "orc", "avro"])
def test_what_is_written_is_read_again(t_env: TableEnvironment, tmp_path: Path, name: str) -> None:
    more = ", 'csv.null-literal' = 'n/a'" if name == "csv" else ""
    declare(t_env, tmp_path / "t", f"'format' = '{name}'{more}")
    t_env.execute_sql(f"INSERT INTO files VALUES {VALUES}").wait()
    assert [each.suffix for each in (tmp_path / "t").iterdir() if each.name[0] != "."] == [
        f".{name}"
    ]
    aliases = ", ".join(each.split()[0] for each in COLUMNS.replace("(10, 2)", "").split(", "))
    expected = rows(t_env, f"SELECT * FROM (VALUES {VALUES}) AS t({aliases})")
    assert rows(t_env, "SELECT * FROM files") == expected
    assert rows(t_env, "SELECT name, id FROM files WHERE id > 1") == [(None, 2)]
    assert rows(t_env, "SELECT COUNT(*) FROM files")[-1] == (2,)


def test_rows_that_cannot_be_read_are_skipped(t_env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\n{"id": \n{"id": 3, "more": 4}\n')
    declare(t_env, tmp_path, "'format' = 'json', 'json.ignore-parse-errors' = 'true'", "id INT")
    assert rows(t_env, "SELECT * FROM files") == [(1,), (3,)]


def test_a_dialect_of_csv(t_env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# ids|tags\n1|'a|b'|x/y\nwrong\n")
    declare(
        t_env,
        tmp_path,
        "'format' = 'csv', 'csv.field-delimiter' = '|', 'csv.quote-character' = '''', "
        "'csv.array-element-delimiter' = '/', 'csv.allow-comments' = 'true', "
        "'csv.ignore-parse-errors' = 'true'",
        "id INT, name STRING, tags ARRAY<STRING>",
    )
    assert [tuple(row) for row in t_env.execute_sql("SELECT * FROM files").collect()] == [
        (1, "a|b", ["x", "y"])
    ]


def test_lines_of_raw_text(t_env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("to be\nor not\n")
    declare(t_env, tmp_path, "'format' = 'raw'", "line STRING")
    assert rows(t_env, "SELECT UPPER(line) FROM files") == [("OR NOT",), ("TO BE",)]


def test_a_watched_directory_never_ends(batch_env: TableEnvironment, tmp_path: Path) -> None:
    declare(batch_env, tmp_path, "'format' = 'raw', 'source.monitor-interval' = '1 s'", "l STRING")
    with pytest.raises(JobDefinitionError, match="never ends, so it cannot be read in batch mode"):
        batch_env.execute_sql("SELECT * FROM files")


@pytest.mark.parametrize("name", ["json", "parquet"])
def test_files_have_the_names_of_the_table(
    t_env: TableEnvironment, tmp_path: Path, name: str
) -> None:
    declare(t_env, tmp_path / "t", f"'format' = '{name}'", "n INT, twice INT")
    t_env.execute_sql("INSERT INTO files SELECT n, n * 2 FROM (VALUES 1, 2) AS t(n)").wait()
    assert rows(t_env, "SELECT * FROM files") == [(1, 2), (2, 4)]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("'format' = 'parkett'", "no such format of files; did you mean 'parquet'?"),
        ("'format' = 'csv', 'csv.feild-delimiter' = ';'", "'csv.field-delimiter'"),
        ("'format' = 'raw'", "a number or BOOLEAN; the table has id INT, p STRING"),
    ],
)
def test_wrong_options_are_refused(
    t_env: TableEnvironment, tmp_path: Path, options: str, error: str
) -> None:
    declare(t_env, tmp_path, options, "id INT, p STRING")
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("SELECT * FROM files")


@pytest.mark.parametrize(
    ("column", "error"),
    [
        (
            "m MAP<INT, INT>",
            "column m is of MAP.* which JSON does not hold; .* maps with keys of text",
        ),
        ("p STRING METADATA", "column p: files have no metadata"),
    ],
)
def test_wrong_columns_are_refused(
    t_env: TableEnvironment, tmp_path: Path, column: str, error: str
) -> None:
    declare(t_env, tmp_path, "'format' = 'json'", f"id INT, {column}")
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("SELECT * FROM files")


@pytest.mark.parametrize("name", ["json", "debezium-json", "parquet", "orc"])
def test_rows_and_maps(t_env: TableEnvironment, tmp_path: Path, name: str) -> None:
    columns = "id INT, r ROW<x INT, y ROW<z STRING>>, m MAP<STRING, INT>, l ARRAY<ROW<a INT>>"
    declare(t_env, tmp_path / "t", f"'format' = '{name}'", columns)
    t_env.execute_sql(
        "INSERT INTO files SELECT 1, CAST(ROW(2, ROW('c')) AS ROW<x INT, y ROW<z STRING>>), "
        "MAP['k', 3], ARRAY[CAST(ROW(4) AS ROW<a INT>)]"
    ).wait()
    query = "SELECT r.x, r.y.z, m['k'], l[1].a FROM files"
    assert rows(t_env, query) == [(2, "c", 3, 4)]


@pytest.mark.parametrize(("name", "line"), [("json", b'{"id": 2\xff}'), ("csv", b"2\xff")])
def test_one_bad_byte(t_env: TableEnvironment, tmp_path: Path, name: str, line: bytes) -> None:
    good = (b'{"id": 1}', b'{"id": 3}') if name == "json" else (b"1", b"3")
    (tmp_path / "a").write_bytes(b"\n".join([good[0], line, good[1], b""]))
    declare(t_env, tmp_path, f"'format' = '{name}'", "id INT")
    with pytest.raises(Exception, match="cannot be read|malformed|no JSON|is no"):
        rows(t_env, "SELECT * FROM files")
    skipped = f"/*+ OPTIONS('{name}.ignore-parse-errors' = 'true') */"
    assert rows(t_env, f"SELECT * FROM files {skipped}") == [(1,), (3,)]
