"""What programs of PyFlink do that no page of Flink tells: each worked there and failed here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common import Row
from millrace.common.errors import ConfigurationError, JobDefinitionError, MillraceError
from millrace.table import (
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    ScalarFunction,
    Schema,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
)
from millrace.table.catalog import CatalogPartitionSpec, GenericInMemoryCatalog, ObjectPath
from millrace.table.expressions import col, lit, row
from millrace.table.udf import AggregateFunction, TableAggregateFunction, udaf, udf, udtaf
from millrace.testing import run_local


@pytest.fixture
def t_env() -> Iterator[TableEnvironment]:
    """Queries run in this process."""
    with run_local():
        yield TableEnvironment.create(EnvironmentSettings.in_batch_mode())


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(each) for each in table.execute().collect())


class Counted(AggregateFunction):
    """Counts rows, and tells its type itself."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += 1

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> str:
        return "BIGINT"


class Twice(TableAggregateFunction):
    """The number of rows, two times."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += 1

    def emit_value(self, accumulator: list[int]) -> Iterator[tuple[int]]:
        yield (accumulator[0],)
        yield (accumulator[0],)

    def get_result_type(self) -> str:
        return "ROW<n BIGINT>"


def test_an_aggregate_function_is_registered_as_it_is(t_env: TableEnvironment) -> None:
    """Without udaf()."""
    t_env.create_temporary_system_function("counted", Counted())
    t_env.create_temporary_function("twice", Twice())
    t_env.create_temporary_view("t", t_env.from_elements([(1, "a"), (2, "a")], ["n", "k"]))
    assert rows(t_env.sql_query("SELECT k, counted(n) FROM t GROUP BY k")) == [("a", 2)]
    assert sorted(t_env.list_user_defined_functions()) == ["counted", "twice"]
    made = t_env.from_path("t").flat_aggregate(udtaf(Twice())).select(col("n"))
    assert rows(made) == [(2,), (2,)]


PAIR = DataTypes.ROW(
    [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.STRING())]
)


def test_elements_are_expressions(t_env: TableEnvironment) -> None:
    table = t_env.from_elements([row(1, "abc"), row(lit(1) + 1, "def")], PAIR)
    assert table.get_schema() == TableSchema(["a", "b"], ["BIGINT", "STRING"])
    assert rows(table) == [(1, "abc"), (2, "def")]
    assert rows(t_env.from_elements([row(1, "abc")], ["x", "y"])) == [(1, "abc")]


def test_elements_of_one_type_are_one_column(t_env: TableEnvironment) -> None:
    assert rows(t_env.from_elements([1, 2], DataTypes.INT())) == [(1,), (2,)]


@pytest.mark.parametrize(
    ("value", "kind", "column"),
    [
        (None, DataTypes.STRING(nullable=False), "'f', which is of type"),
        (200, DataTypes.TINYINT(), "'f', which is"),
        ("1", DataTypes.INT(), "'f', which is"),
        (1.5, DataTypes.INT(), "'f', which is"),
    ],
)
@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_elements_are_verified(
    t_env: TableEnvironment, value: object, kind: Any, column: str, error: type[Exception]
) -> None:
    """Errors are PyFlink's classes, too, of which some are the one and some the other."""
    schema = DataTypes.ROW([DataTypes.FIELD("f", kind)])
    with pytest.raises(error, match=column):
        t_env.from_elements([(value,)], schema)


def test_none_passes_where_nothing_is_verified(t_env: TableEnvironment) -> None:
    schema = DataTypes.ROW([DataTypes.FIELD("f", DataTypes.STRING(nullable=False))])
    table = t_env.from_elements([(None,), ("a",)], schema, verify_schema=False)
    assert rows(table.select(col("f").cast("STRING").if_null("-").alias("f"))) == [("-",), ("a",)]
    with pytest.raises(MillraceError, match="Column 'f' of the query is NOT NULL"):
        rows(table)


def test_types_of_a_frame_keep_its_names(t_env: TableEnvironment) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0], "b": [2]})
    table = t_env.from_pandas(frame, [DataTypes.FLOAT(), DataTypes.INT()])
    assert table.get_schema() == TableSchema(["a", "b"], ["FLOAT", "INT"])
    with pytest.raises(JobDefinitionError, match="1 types were given for 2 columns"):
        t_env.from_pandas(frame, [DataTypes.FLOAT()])


def test_pandas_functions_get_one_frame(t_env: TableEnvironment) -> None:
    """Fields of a nested row are columns of it, and an aggregate function gets a frame, too."""
    pandas = pytest.importorskip("pandas")
    inner = DataTypes.ROW([DataTypes.FIELD("c", "INT"), DataTypes.FIELD("d", "INT")])
    schema = DataTypes.ROW([DataTypes.FIELD("a", "TINYINT"), DataTypes.FIELD("b", inner)])
    table = t_env.from_elements([(1, Row(2, 3)), (2, Row(1, 3))], schema)

    def sums(x: Any) -> Any:
        assert list(x.columns) == ["a", "c", "d"]
        return pandas.concat([x.a, x.c + x.d], axis=1)

    pair = DataTypes.ROW([DataTypes.FIELD("c", "BIGINT"), DataTypes.FIELD("d", "BIGINT")])
    mapped = table.map(udf(sums, result_type=pair, func_type="pandas").alias("p", "q"))
    assert mapped.get_schema().get_field_names() == ["p", "q"]
    assert rows(mapped) == [(1, 5), (2, 4)]

    spread = udaf(lambda x: (x.a.max(), (x.c * x.d).sum()), result_type=pair, func_type="pandas")
    totals = table.aggregate(spread.alias("most", "total")).select(col("most"), col("total"))
    assert rows(totals) == [(2, 9)]


def test_floats_are_as_short_as_they_are_written(t_env: TableEnvironment) -> None:
    """At any depth; so they come through Flink's text."""
    kinds = ["FLOAT", "ARRAY<FLOAT>", "MAP<STRING, FLOAT>", "ROW<f FLOAT>"]
    names = ["a", "b", "c", "d"]
    fields = [DataTypes.FIELD(n, k) for n, k in zip(names, kinds, strict=True)]
    given = [(1.23, [0.1, None], {"k": 0.7}, Row(3.4e38)), (None, None, None, None)]
    table = t_env.from_elements(given, DataTypes.ROW(fields))
    found = [tuple(each) for each in table.execute().collect()]
    assert found == [(1.23, [0.1, None], {"k": 0.7}, Row(f=3.4e38)), (None, None, None, None)]


class Sub(ScalarFunction):
    def eval(self, i: int) -> int:
        return i - 1


class Plus:
    """No function, whatever methods it has."""

    def eval(self, c: int) -> int:
        return c + 1


async def waiting(value: str) -> str:
    return value


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: udf(Sub(), result_type="BIGINT", deterministic=False), ValueError, "returns True"),
        (lambda: udf(Plus(), result_type="BIGINT"), TypeError, "takes a function"),
        (
            lambda: udaf(lambda: 1, result_type="MAP<INT, INT>", func_type="pandas"),
            TypeError,
            "cannot return MAP",
        ),
        (
            lambda: udf(waiting, result_type="STRING", func_type="pandas"),
            ValueError,
            "Async scalar functions do not support pandas func_type: waiting",
        ),
    ],
)
def test_what_is_no_function_is_refused(make: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match) as refused:
        make()
    assert isinstance(refused.value, JobDefinitionError)


def test_func_types_are_named_as_in_pyflink() -> None:
    with pytest.raises(ValueError, match="The func_type must be one of 'general, pandas'"):
        udf(lambda i: i, result_type="BIGINT", func_type="non-exist")


def test_columns_of_an_aggregate_beside_those_of_its_group(t_env: TableEnvironment) -> None:
    """A name that the group has, too, gets a number, unless alias() gives another."""
    pytest.importorskip("pandas")
    table = t_env.from_elements([(1, 2), (2, 1), (1, 8)], ["a", "b"])
    function = udaf(
        lambda frame: (frame.b.mean(), frame.b.max()),
        result_type="ROW<a DOUBLE, a0 BIGINT>",
        func_type="pandas",
    )
    made = table.group_by(table.a).aggregate(function).select(col("*"))
    assert made.get_schema().get_field_names() == ["a", "a0", "a00"]
    assert sorted(rows(made))[-1] == (2, 1.0, 1)
    named = table.group_by(table.a).aggregate(function.alias("x", "y")).select(col("*"))
    assert named.get_schema().get_field_names() == ["a", "x", "y"]


def test_a_schema_of_names_and_types() -> None:
    schema = TableSchema(["a"], [DataTypes.INT()])
    assert str(schema) == repr(schema) == "root\n |-- a: INT\n"
    assert schema.to_row_data_type() == DataTypes.ROW([DataTypes.FIELD("a", "INT")], False)
    with pytest.raises(TypeError, match="its name or its position from 0, not by None"):
        schema.get_field_data_type(None)  # type: ignore[arg-type]


def test_descriptors(t_env: TableEnvironment) -> None:
    """A table without a name has no identifier; a format prints as in Flink."""
    schema = Schema.new_builder().column("f0", "STRING").build()
    read = TableDescriptor.for_connector("datagen").option("number-of-rows", "1").schema(schema)
    written = TableDescriptor.for_connector("blackhole").schema(schema).build()
    pipeline = t_env.from_descriptor(read.build()).insert_into(written)
    assert pipeline.get_sink_identifier() is None
    assert str(FormatDescriptor.for_format("f").option("a", "false").build()) == "f[{a=false}]"


def test_a_descriptor_is_shown_as_a_statement() -> None:
    table = (
        TableDescriptor.for_connector("filesystem")
        .schema(Schema.new_builder().column("k", DataTypes.STRING()).build())
        .partitioned_by("k")
        .format(FormatDescriptor.for_format("csv").option("field-delimiter", "'").build())
        .comment("of two")
        .build()
    )
    assert str(table) == (
        "(\n  `k` STRING\n)\nCOMMENT 'of two'\nPARTITIONED BY (`k`)\nWITH (\n"
        "  'connector' = 'filesystem',\n  'format' = 'csv',\n  'csv.field-delimiter' = ''''\n)"
    )
    assert (
        str(TableDescriptor.for_connector("print").build()) == "WITH (\n  'connector' = 'print'\n)"
    )


def test_a_partition_of_no_table_is_not_there() -> None:
    catalog = GenericInMemoryCatalog("c")
    spec = CatalogPartitionSpec({"k": "v"})
    assert not catalog.partition_exists(ObjectPath("nodb", "t"), spec)
    assert not catalog.partition_exists(ObjectPath("default", "t"), spec)


def test_an_expression_has_no_other_attributes() -> None:
    """A misspelt method is no field of a row."""
    with pytest.raises(AttributeError, match=r"'summ'; did you mean 'sum'\? A field"):
        col("a").summ  # noqa: B018
    assert not hasattr(col("a"), "shape")
    assert str(col("r").get("a")) == "r.a"


def test_methods_of_types() -> None:
    kind = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT(nullable=False))])
    assert kind.field_names() == ["a"]
    assert kind.field_types() == [DataTypes.INT().not_null()]
    assert kind["a"] == kind[0] == kind.fields.copy()[0]
    assert kind["a"].data_type.nullable() == DataTypes.INT()
    assert kind.add("b", DataTypes.DATE()).field_names() == ["a", "b"]
    assert kind.add(DataTypes.FIELD("b", DataTypes.DATE())).names == ("a", "b")
    assert DataTypes.DATE().bridged_to("java.sql.Date") == DataTypes.DATE()
    with pytest.raises(KeyError, match="is called 'c'"):
        kind["c"]
    with pytest.raises(JobDefinitionError, match="field 'c' needs a type"):
        kind.add("c")


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("table.sql-dialect", "hive", "default"),
        ("table.exec.sink.type-length-enforcer", "CUT", "IGNORE"),
    ],
)
def test_settings_with_another_meaning_are_refused(
    t_env: TableEnvironment, key: str, value: str, accepted: str
) -> None:
    """They would change results."""
    t_env.get_config().set(key, accepted)
    with pytest.raises(ConfigurationError, match=f"must be .*{accepted}"):
        t_env.get_config().set(key, value)
