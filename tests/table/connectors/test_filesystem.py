"""Files as tables: what is written is read again, with every format."""

from __future__ import annotations

from datetime import datetime
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
        (1, "a|b", ["x", "y"]),
        (None, None, None),
    ]


def test_fields_of_csv_that_cannot_be_read_are_null(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    """A line with too many fields is left out."""
    (tmp_path / "a.csv").write_text("99999999999\ta b\n1.0\tc x\n2\td 3\n3\te\n4\tf 5\tg\n")
    options = "'format' = 'csv', 'csv.field-delimiter' = '\\t', 'csv.array-element-delimiter' = ' '"
    declare(
        t_env,
        tmp_path,
        f"{options}, 'csv.ignore-parse-errors' = 'true'",
        "n INT, r ROW<x STRING, y INT>",
    )
    found = [tuple(row) for row in t_env.execute_sql("SELECT n, r.x, r.y FROM files").collect()]
    assert found == [(None, "a", None), (None, "c", None), (2, "d", 3), (3, "e", None)]


def test_times_and_what_is_no_number_in_csv(t_env: TableEnvironment, tmp_path: Path) -> None:
    """As Flink writes them; they are read back."""
    declare(
        t_env,
        tmp_path / "t",
        "'format' = 'csv', 'csv.array-element-delimiter' = ' '",
        "a TIMESTAMP_LTZ(3), b TIMESTAMP(3), c TIME(3), d DOUBLE, e FLOAT, "
        "r ROW<x DOUBLE, y STRING>",
    )
    t_env.execute_sql(
        "INSERT INTO files SELECT TO_TIMESTAMP_LTZ(1500, 3), TIMESTAMP '1970-01-01 00:00:01', "
        "TIME '10:00:00', CAST('NaN' AS DOUBLE), CAST('-Infinity' AS FLOAT), "
        "CAST(ROW(1.5, 'p') AS ROW<x DOUBLE, y STRING>)"
    ).wait()
    (written,) = [path for path in (tmp_path / "t").iterdir() if path.is_file()]
    assert written.read_text() == (
        "1970-01-01 00:00:01.5Z,1970-01-01 00:00:01,10:00:00,NaN,-Infinity,1.5 p\n"
    )
    query = "SELECT CAST(a AS STRING), b, CAST(d AS STRING), e, r.y FROM files"
    point = "1970-01-01 00:00:01.500"
    at = datetime(1970, 1, 1, 0, 0, 1)
    assert rows(t_env, query) == [(point, at, "NaN", float("-inf"), "p")]


def test_an_empty_line_is_a_row_of_one_column(t_env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n1\n\n")
    declare(t_env, tmp_path, "'format' = 'csv', 'csv.null-literal' = ''", "n INT")
    found = [tuple(row) for row in t_env.execute_sql("SELECT n FROM files").collect()]
    assert found == [(None,), (1,), (None,)]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("csv", "1\n99999999999\n", 2),
        ("csv", "1\n1.0\n", 2),
        ("json", '{"id": 1}\n{"id": 99999999999}\n', 2),
        ("json", '{"id": 1}\n{"id": 1e999999999}\n', 2),
        ("json", '{"id": 1}\n\n' + "[" * 100_000 + "\n", 3),
    ],
    ids=range(5),
)
def test_what_cannot_be_read_is_told_with_its_place(
    t_env: TableEnvironment, tmp_path: Path, name: str, text: str, line: int
) -> None:
    (tmp_path / "a.txt").write_text(text)
    declare(t_env, tmp_path, f"'format' = '{name}'", "id INT")
    with pytest.raises(Exception, match=f"cannot read .*a.txt: line {line}"):
        list(t_env.execute_sql("SELECT * FROM files").collect())


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
        ("'format' = 'parkett'", "no such file format; did you mean 'parquet'?"),
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
            "column m is of MAP.* which JSON cannot hold; .* maps with keys of text",
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
    with pytest.raises(Exception, match="cannot be read|malformed|not JSON|is not"):
        rows(t_env, "SELECT * FROM files")
    skipped = f"/*+ OPTIONS('{name}.ignore-parse-errors' = 'true') */"
    assert rows(t_env, f"SELECT * FROM files {skipped}") == [(1,), (3,)]


@pytest.mark.parametrize("name", ["parquet", "orc"])
@pytest.mark.parametrize("query", ["SELECT a, b, c FROM files", "SELECT b, c, 1 FROM files"])
def test_files_that_are_older_than_a_column_have_null(
    t_env: TableEnvironment, tmp_path: Path, name: str, query: str
) -> None:
    import pyarrow as pa
    from pyarrow import orc, parquet

    write = {"parquet": parquet.write_table, "orc": orc.write_table}[name]
    write(pa.table({"a": [1]}), tmp_path / f"old.{name}")
    write(pa.table({"b": ["x"], "a": [2]}), tmp_path / f"new.{name}")
    declare(t_env, tmp_path, f"'format' = '{name}'", "a BIGINT, b STRING, c ROW<d ARRAY<INT>>")
    found = [tuple(row) for row in t_env.execute_sql(query).collect()]
    all_columns = [(1, None, None), (2, "x", None)]
    assert sorted(found, key=repr) == sorted(
        all_columns if "a," in query else [(None, None, 1), ("x", None, 1)], key=repr
    )


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_values_that_do_not_fit_a_column_are_told_with_their_file(
    t_env: TableEnvironment, tmp_path: Path, name: str
) -> None:
    """And without what pyarrow was about."""
    import pyarrow as pa
    from pyarrow import orc, parquet

    write = {"parquet": parquet.write_table, "orc": orc.write_table}[name]
    write(pa.table({"a": ["x"]}), tmp_path / f"f.{name}")
    declare(t_env, tmp_path, f"'format' = '{name}'", "a INT")
    with pytest.raises(Exception, match=rf"cannot read .*f\.{name}.*'a' as string") as found:
        list(t_env.execute_sql("SELECT * FROM files").collect())
    assert "pyarrow" not in str(found.value)


@pytest.mark.parametrize("name", ["csv", "json", "parquet", "orc"])
def test_nanoseconds_are_kept(t_env: TableEnvironment, tmp_path: Path, name: str) -> None:
    columns = "t TIMESTAMP(9), z TIMESTAMP_LTZ(9), a ARRAY<TIMESTAMP(9)>"
    declare(t_env, tmp_path, f"'format' = '{name}'", columns)
    time = "TIMESTAMP '1969-12-31 23:59:59.123456789'"
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(
        f"INSERT INTO files SELECT t, CAST(t AS TIMESTAMP_LTZ(9)), ARRAY[t] FROM (VALUES ({time})) "
        "AS v(t)"
    ).wait()
    [found] = t_env.execute_sql(
        "SELECT CAST(t AS STRING), CAST(z AS STRING), CAST(a[1] AS STRING) FROM files"
    ).collect()
    assert tuple(found) == ("1969-12-31 23:59:59.123456789",) * 3


def test_nanoseconds_that_avro_would_lose_are_refused(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    declare(t_env, tmp_path, "'format' = 'avro'", "t TIMESTAMP(9)")
    with pytest.raises(JobDefinitionError, match="TIMESTAMP.9. has no counterpart in Avro"):
        t_env.execute_sql("INSERT INTO files VALUES (TIMESTAMP '2024-01-01 00:00:00')")


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_digits_of_a_second_that_a_column_lacks_are_left_out(
    t_env: TableEnvironment, tmp_path: Path, name: str
) -> None:
    """As by CAST, before 1970, too."""
    import pyarrow as pa
    from pyarrow import orc, parquet

    write = {"parquet": parquet.write_table, "orc": orc.write_table}[name]
    times = pa.array([-1, 1_700_000_000_123_456], pa.timestamp("us"))
    write(pa.table({"t": times}), tmp_path / f"f.{name}")
    declare(t_env, tmp_path, f"'format' = '{name}'", "t TIMESTAMP(3)")
    assert rows(t_env, "SELECT CAST(t AS STRING) FROM files") == [
        ("1969-12-31 23:59:59.999",),
        ("2023-11-14 22:13:20.123",),
    ]
