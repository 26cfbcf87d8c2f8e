"""Reading CSV."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types import Row
from millrace.common.types.logical.logical_type import DecimalType, IntType, RowType
from millrace.common.types.typeinfo import Types
from millrace.formats import (
    CsvReaderFormat,
    CsvSchema,
    CsvSchemaBuilder,
    FileRange,
    csv_columns,
    csv_parser,
    line_blocks,
)
from millrace.formats.csv_fields import parse_columns


def flights() -> CsvSchemaBuilder:
    return CsvSchema.builder().add_string_column("origin").add_number_column("delay")


def read(csv_format: CsvReaderFormat, tmp_path: Path, content: str) -> list[Any]:
    path = tmp_path / "data.csv"
    path.write_text(content, newline="")
    [file_range] = csv_format.ranges(str(path), len(content), 1)
    reader = csv_format.open(str(path), file_range, None)
    records = []
    while not reader.finished():
        records += reader.read(2).to_rows().values
    reader.close()
    return records


def test_records_are_rows_with_names_or_dicts(tmp_path: Path) -> None:
    schema = flights().build()
    content = "JFK,3\r\n\r\nEWR,-2"
    rows = read(CsvReaderFormat.for_schema(schema), tmp_path, content)
    assert rows == [Row(origin="JFK", delay=3), Row(origin="EWR", delay=-2)]
    dicts = read(CsvReaderFormat.for_schema(schema, record_type=dict), tmp_path, content)
    assert dicts == [row.as_dict() for row in rows]


def test_types_of_columns(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_number_column("i", Types.INT())
        .add_number_column("f", Types.DOUBLE())
        .add_number_column("d", Types.BIG_DEC())
        .add_boolean_column("b")
        .add_array_column("a", "|", Types.INT())
        .add_array_column("s")
        .build()
    )
    rows = read(CsvReaderFormat.for_schema(schema), tmp_path, "1,2.5,3.10,TRUE,4|5,x;y\n,,,,,\n")
    assert list(rows[0]) == [1, 2.5, Decimal("3.10"), True, [4, 5], ["x", "y"]]
    assert list(rows[1]) == [None] * 6


def test_decimals_of_a_scale(tmp_path: Path) -> None:
    """They are rounded half up; what is too great for the column is None."""
    schema = CsvSchema.builder().add_number_column("d", DecimalType(2, 0)).build()
    copied = CsvSchema.builder().add_columns_from(schema).build()
    rows = read(CsvReaderFormat.for_schema(copied), tmp_path, '1.5\n2.4\n1e9\n""\n')
    assert [row.d for row in rows] == [Decimal(2), Decimal(2), None, None]


def test_a_null_value_counts_in_every_column(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_string_column("s")
        .add_number_column("f", Types.DOUBLE())
        .set_null_value("NaN")
        .build()
    )
    rows = read(CsvReaderFormat.for_schema(schema), tmp_path, "NaN,NaN\n,1\n")
    assert [list(row) for row in rows] == [[None, None], ["", 1.0]]


def named() -> CsvSchemaBuilder:
    return flights().set_use_header().set_reorder_columns()


def test_a_header_finds_the_columns_wherever_they_are(tmp_path: Path) -> None:
    csv_format = CsvReaderFormat.for_schema(named().build(), record_type=dict)
    content = "\ufeffdelay,carrier,origin\n3,AA,JFK\n"
    assert read(csv_format, tmp_path, content) == [{"origin": "JFK", "delay": 3}]
    with pytest.raises(SerializationError, match="the header has the columns a, b"):
        read(csv_format, tmp_path, "a,b\n1,2\n")


def test_strict_headers_name_exactly_the_columns(tmp_path: Path) -> None:
    builder = CsvSchema.builder().add_string_column("a").set_use_header().set_strict_headers()
    with pytest.raises(SerializationError, match="columns a, b, the schema a"):
        read(CsvReaderFormat.for_schema(builder.build()), tmp_path, "a,b\n1,2\n")


def test_columns_from_the_header_alone(tmp_path: Path) -> None:
    csv_format = CsvReaderFormat.for_header(column_separator=";")
    assert read(csv_format, tmp_path, "a;b\n1;2\n") == [{"a": "1", "b": "2"}]
    assert read(csv_format, tmp_path, "") == []


def test_first_row_and_comments_can_be_skipped(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_string_column("a")
        .set_skip_first_data_row()
        .set_allow_comments()
        .build()
    )
    rows = read(CsvReaderFormat.for_schema(schema), tmp_path, "# c\nfirst\nsecond\n#\nthird\n")
    assert [row.a for row in rows] == ["second", "third"]


def test_quotes_and_escapes(tmp_path: Path) -> None:
    builder = CsvSchema.builder().add_string_column("a").add_string_column("b")
    quoted = CsvReaderFormat.for_schema(builder.build())
    assert list(read(quoted, tmp_path, '"x\n,""y""",z\n')[0]) == ['x\n,"y"', "z"]
    plain = CsvReaderFormat.for_schema(builder.disable_quote_char().set_escape_char("\\").build())
    assert list(read(plain, tmp_path, '"x,y\\,z\n')[0]) == ['"x', "y,z"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("JFK\n", r"line 1, offset 0: a record has 1 field, not 2: b'JFK\\n'"),
        ("JFK,3\nEWR,1,2\n", "a record has 3 fields, not 2"),
        ("JFK,NA\n", r"column 'delay': 'NA' is not a number.*set_null_value\('NA'\)"),
        ('JFK,"3', "broken CSV"),
        ('"JFK"x,3\n', "broken CSV"),
    ],
)
def test_broken_records_are_explained(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        read(CsvReaderFormat.for_schema(flights().build()), tmp_path, content)


def test_wrong_schemas_are_refused() -> None:
    with pytest.raises(JobDefinitionError, match="needs a column"):
        CsvSchema.builder().build()
    with pytest.raises(JobDefinitionError, match="each column once"):
        CsvSchema.builder().add_string_column("a").add_string_column("a").build()
    with pytest.raises(JobDefinitionError, match="one character"):
        CsvSchema.builder().set_column_separator("||")
    with pytest.raises(JobDefinitionError, match="cannot end lines"):
        CsvSchema.builder().set_line_separator("|")
    with pytest.raises(JobDefinitionError, match="Row or dict"):
        CsvReaderFormat.for_schema(flights().build(), record_type=list)


def test_a_schema_can_be_extended() -> None:
    base = CsvSchema.builder().add_string_column("a").build()
    builder = CsvSchema.builder().add_columns_from(base).add_boolean_column("b")
    assert builder.build().names == ("a", "b")
    assert base.size() == 1
    assert builder.clear_columns().size() == 0


def test_csv_files_are_not_cut(tmp_path: Path) -> None:
    csv_format = CsvReaderFormat.for_header()
    [file_range] = csv_format.ranges("a.csv", 1 << 40, 1)
    assert isinstance(file_range, FileRange)


def test_arrays_without_a_separator_are_one_element() -> None:
    """A separator counts for all array columns so far, or for one."""
    builder = CsvSchema.builder().add_array_column("a").add_array_column("b", "|")
    assert len(builder) == 2
    one = builder.remove_array_element_separator(0).build()
    assert [column.separator for column in one.columns] == ["", "|"]
    assert len(one) == 2
    both = builder.disable_array_element_separator().build()
    assert [column.separator for column in both.columns] == ["", ""]
    assert parse_columns(both, (0, 1), 2, [["x;y", "z"]]) == [[["x;y"]], [["z"]]]
    with pytest.raises(JobDefinitionError, match="no column 2: the schema has 2"):
        builder.remove_array_element_separator(2)


def test_a_header_without_reordering_is_passed_over(tmp_path: Path) -> None:
    """As Jackson does: the names in it are for people."""
    csv_format = CsvReaderFormat.for_schema(flights().set_use_header().build(), dict)
    content = "From,Minutes late\nJFK,3\n"
    assert read(csv_format, tmp_path, content) == [{"origin": "JFK", "delay": 3}]
    with pytest.raises(SerializationError, match=r"has the columns delay, origin.*reorder_col"):
        read(csv_format, tmp_path, "delay,origin\n3,JFK\n")


def test_a_name_that_is_twice_in_the_header_is_refused(tmp_path: Path) -> None:
    """One of the columns would be lost."""
    with pytest.raises(SerializationError, match="more than one column 'a'"):
        read(CsvReaderFormat.for_header(), tmp_path, "a,b,a\n1,2,3\n")
    schema = CsvSchema.builder().add_string_column("a").set_use_header().set_reorder_columns()
    with pytest.raises(SerializationError, match="more than one column 'a'"):
        read(CsvReaderFormat.for_schema(schema.build()), tmp_path, "a,b,a\n1,2,3\n")


def test_elements_of_arrays_have_their_type(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_array_column("flags", ";", Types.BOOLEAN())
        .add_array_column("days", ";", Types.SQL_DATE())
        .add_array_column("sums", ";", Types.BIG_DEC())
        .build()
    )
    [row] = read(CsvReaderFormat.for_schema(schema), tmp_path, "true;FALSE,2026-01-31,1.50;2\n")
    assert list(row) == [[True, False], [date(2026, 1, 31)], [Decimal("1.50"), Decimal(2)]]
    with pytest.raises(JobDefinitionError, match="cannot be written as text"):
        CsvSchema.builder().add_array_column("any", ";", Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(SerializationError, match="column 'flags'"):
        read(CsvReaderFormat.for_schema(schema), tmp_path, "maybe,,\n")


def test_comments_are_lines_between_records(tmp_path: Path) -> None:
    """Not those of a quoted field."""
    builder = CsvSchema.builder().add_string_column("a").add_string_column("b")
    csv_format = CsvReaderFormat.for_schema(builder.set_allow_comments().build())
    content = '# c\n"x\n#y\n",1\n#\n#,\n\nz,"#2"\n# end'
    rows = read(csv_format, tmp_path, content)
    assert [list(row) for row in rows] == [["x\n#y\n", "1"], ["z", "#2"]]


def test_numbers_of_python_alone_are_none(tmp_path: Path) -> None:
    with pytest.raises(SerializationError, match="'1_000' is not a number"):
        read(CsvReaderFormat.for_schema(flights().build()), tmp_path, "JFK,1\nJFK,1_000\n")
    rows = read(CsvReaderFormat.for_schema(flights().build()), tmp_path, "J_K,1\n")
    assert rows[0].origin == "J_K"


def malformed(csv_format: CsvReaderFormat, tmp_path: Path, content: bytes, step: int = 1000) -> Any:
    """What is read, and the places and raw bytes of what is not; with a reader per batch."""
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    [file_range] = csv_format.ranges(str(path), len(content), 1)
    records, errors, position, finished = [], [], None, False
    while not finished:
        reader = csv_format.open(str(path), file_range, position)
        reader.on_malformed = errors.append
        batch = reader.read(step).to_rows().values
        assert len(batch) + reader.skipped <= step
        records += [tuple(row) for row in batch]
        position, finished = reader.position(), reader.finished()
        reader.close()
    return records, [(e.line, e.offset, e.raw) for e in errors]


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_malformed_records_are_passed_over(tmp_path: Path, step: int) -> None:
    csv_format = CsvReaderFormat.for_schema(flights().build())
    content = b'a,1\nb\nc,x\n"d\n",2\n"e,3\nf,4\n\xff,5\n"g\nh",no\ni,6\n'
    records, errors = malformed(csv_format, tmp_path, content, step)
    assert records == [("a", 1), ("d\n", 2), ("f", 4), ("i", 6)]
    assert errors == [
        (2, 4, b"b\n"),
        (3, 6, b"c,x\n"),
        (6, 17, b'"e,3\n'),
        (8, 26, b"\xff,5\n"),
        (9, 30, b'"g\nh",no\n'),
    ]


def test_one_malformed_record_among_many(tmp_path: Path) -> None:
    lines = [f"o{i},{i}\n".encode() for i in range(20_000)]
    lines[9_999] = b"bad\n"
    records, errors = malformed(
        CsvReaderFormat.for_schema(flights().build()), tmp_path, b"".join(lines), 6000
    )
    assert [n for _, n in records] == [i for i in range(20_000) if i != 9_999]
    assert [(line, raw) for line, _, raw in errors] == [(10_000, b"bad\n")]


def test_a_record_may_be_longer_than_128_kib_but_not_without_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    csv_format = CsvReaderFormat.for_schema(flights().build())
    [long], _ = malformed(csv_format, tmp_path, b"x" * 200_000 + b",1\n")
    assert len(long[0]) == 200_000
    monkeypatch.setattr(line_blocks, "MAX_RECORD_BYTES", 100)
    monkeypatch.setattr(csv_parser, "MAX_RECORD_BYTES", 100)
    monkeypatch.setattr(csv_columns, "MAX_RECORD_BYTES", 100)
    content = b"a,1\n" + b"x" * 250 + b",2\nb,3\n"
    records, errors = malformed(csv_format, tmp_path, content)
    assert records == [("a", 1), ("b", 3)]
    assert [(line, offset, len(raw)) for line, offset, raw in errors] == [(2, 4, 100)]


def test_columns_of_types_of_tables() -> None:
    """As PyFlink takes them; those of texts are the same columns."""
    by_tables = CsvSchema.builder().add_number_column("n", IntType())
    by_tables.add_array_column("a", ";", DecimalType(4, 1))
    by_types = CsvSchema.builder().add_number_column("n", Types.INT())
    by_types.add_array_column("a", ";", Types.BIG_DEC())
    assert by_tables.build() == by_types.build()
    with pytest.raises(JobDefinitionError, match="cannot be written as text"):
        by_tables.add_array_column("b", ";", RowType.of(("x", IntType())))
