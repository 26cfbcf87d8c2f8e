"""Files of a table's row type: what PyFlink's programs give bulk writers and readers."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from millrace.common import Configuration, Row
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import BulkWriterFactory
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.columns import from_records
from millrace.formats.file_format import FileRange
from millrace.formats.orc_writer import OrcBulkWriters
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.parquet_writer import ParquetBulkWriters
from millrace.table import DataTypes

PRICES = DataTypes.ROW(
    [
        DataTypes.FIELD("Name", DataTypes.CHAR(10)),
        DataTypes.FIELD("code", DataTypes.BINARY(10)),
        DataTypes.FIELD("price", DataTypes.DECIMAL(2, 0)),
        DataTypes.FIELD("sizes", DataTypes.ARRAY(DataTypes.INT())),
        DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
        DataTypes.FIELD("point", DataTypes.TIMESTAMP_LTZ(3)),
    ]
)
AT = datetime(1970, 1, 2, 3, 4, 5, 600000)
SHORT = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.TINYINT())])


def written(factory: BulkWriterFactory[Any], *records: Any) -> BytesIO:
    """A file of the records."""
    stream = BytesIO()
    writer = factory.create(stream)
    writer.add_elements(records)
    writer.finish()
    return BytesIO(stream.getvalue())


def parquet(file: BytesIO) -> Any:
    """The rows of a Parquet file."""
    return pa.parquet.read_table(file).to_pylist()


def orc(file: BytesIO) -> Any:
    """The rows of an ORC file."""
    return pa.orc.read_table(file).to_pylist()


@pytest.mark.parametrize(
    ("factory", "rows"),
    [(ParquetBulkWriters, parquet), (OrcBulkWriters, orc)],
)
def test_values_are_those_of_a_table(factory: Any, rows: Any) -> None:
    """Decimals get the scale of their column; bytes of a BINARY are as long as they were."""
    record = Row(Name="a", code=b"xy", price=Decimal("1.5"), sizes=[1, 2], at=AT, point=AT)
    file = written(
        factory.for_row_type(PRICES), record, ("b", None, Decimal("1E9"), None, AT, None)
    )
    assert rows(file) == [
        {
            "Name": "a",
            "code": b"xy",
            "price": Decimal(2),
            "sizes": [1, 2],
            "at": AT,
            "point": AT.replace(tzinfo=UTC),
        },
        {"Name": "b", "code": None, "price": None, "sizes": None, "at": AT, "point": None},
    ]


def test_columns_of_a_batch() -> None:
    """They go through the same conversion."""
    stream = BytesIO()
    writer = ParquetBulkWriters.for_row_type(SHORT).create(stream)
    writer.add_columns(ColumnBatch(from_records([{"n": 1}, {"n": None}]), form="dict"))
    writer.finish()
    table = pa.parquet.read_table(BytesIO(stream.getvalue()))
    assert (table.schema.field("n").type, table.to_pydict()) == (pa.int8(), {"n": [1, None]})


@pytest.mark.parametrize(
    ("maker", "kind"), [(ParquetBulkWriters, "Parquet"), (OrcBulkWriters, "Orc")]
)
def test_a_value_of_another_type(maker: Any, kind: str) -> None:
    """The message shows the value and its column."""
    writer = maker.for_row_type(SHORT).create(BytesIO())
    with pytest.raises(SerializationError, match=f"fit the {kind} columns: 'x' .* column 'n'"):
        writer.add_elements([("x",)])


def test_files_of_a_row_type_are_joined() -> None:
    """As compaction does."""
    factory = ParquetBulkWriters.for_row_type(PRICES)
    record = ("a", b"x", Decimal(1), [1], AT, AT)
    target = BytesIO()
    factory.join([written(factory, record), written(factory, record)], target)
    assert len(parquet(BytesIO(target.getvalue()))) == 2


def test_the_codec_of_a_configuration() -> None:
    """PyFlink's programs say it so."""
    config = Configuration().set_string("parquet.compression", "GZIP")
    file = written(ParquetBulkWriters.for_row_type(SHORT, config, True), (1,))
    column = pa.parquet.ParquetFile(file).metadata.row_group(0).column(0)
    assert column.compression == "GZIP"
    other = Configuration().set_string("parquet.block.size", "1")
    with pytest.raises(JobDefinitionError, match=r"has 'parquet\.block\.size'"):
        ParquetBulkWriters.for_row_type(SHORT, other)
    with pytest.raises(JobDefinitionError, match="must be a Configuration, not True"):
        ParquetBulkWriters.for_row_type(SHORT, True)  # type: ignore[arg-type]


def test_properties_of_orc_in_a_configuration() -> None:
    """PyFlink takes no dict."""
    config = Configuration().set_string("orc.compress", "ZLIB")
    assert orc(written(OrcBulkWriters.for_row_type(SHORT, config), (1,))) == [{"n": 1}]
    with pytest.raises(JobDefinitionError, match=r"orc\.compress is"):
        OrcBulkWriters.for_row_type(SHORT, Configuration().set_string("orc.compress", "x"))


@pytest.mark.parametrize(("is_case_sensitive", "expected"), [(True, [None, 1]), (False, [7, 1])])
def test_names_that_are_spelt_otherwise(
    tmp_path: Path, is_case_sensitive: bool, expected: list[Any]
) -> None:
    """PyFlink's arguments, in its order: a column is found, and named as the program says."""
    path = str(tmp_path / "a.parquet")
    pa.parquet.write_table(pa.table({"ID": [7], "n": [1]}), path)
    wanted = DataTypes.ROW(
        [DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("n", DataTypes.BIGINT())]
    )
    columns = ParquetColumnarRowInputFormat(wanted, Configuration(), 10, True, is_case_sensitive)
    batch = columns.open(path, FileRange(0, 1), None).read(10).to_rows()
    assert batch.values == [Row(id=expected[0], n=expected[1])]
