"""What the pages of PyFlink's documentation about tables teach: a program for each snippet.

Pages: Table API tutorial, intro, table environment, functions, vectorized functions, row-based
operations, pandas, dependency management, metrics, connectors, debugging, execution mode, FAQ. The
programs are ours; the calls, the classes and their import paths are those of the pages.
"""

from __future__ import annotations

import functools
import logging
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    ListView,
    ScalarFunction,
    Schema,
    StreamTableEnvironment,
    TableConfig,
    TableDescriptor,
    TableEnvironment,
    TableFunction,
)
from millrace.table.expressions import call, col, lit
from millrace.table.udf import TableAggregateFunction, udaf, udf, udtaf, udtf
from millrace.table.window import Tumble
from millrace.testing import run_local

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")

MODES = ["stream", "batch"]
WORDS = DataTypes.ROW([DataTypes.FIELD("line", DataTypes.STRING())])


@pytest.fixture(params=MODES)
def any_env(request: Any) -> Iterator[TableEnvironment]:
    """Of either mode; two records per epoch."""
    with run_local(epoch_records=2):
        if request.param == "stream":
            yield TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        else:
            yield TableEnvironment.create(EnvironmentSettings.in_batch_mode())


def rows(table: Any) -> list[tuple[Any, ...]]:
    """Of a frame, or of a table: sorted by their texts."""
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    return sorted((tuple(each) for each in frame.itertuples(index=False)), key=repr)


@udtf(result_types=[DataTypes.STRING()])
def words(line: Row) -> Iterator[Row]:
    for word in line[0].split():
        yield Row(word)


@pytest.mark.turns(7)
@pytest.mark.parametrize("by", ["descriptor", "ddl", "elements"])
def test_tutorial(t_env: TableEnvironment, tmp_path: Path, capsys: Any, by: str) -> None:
    t_env.get_config().set("parallelism.default", "1")
    (tmp_path / "in.csv").write_text("to be\nto see\n")
    out = tmp_path / "out"
    if by == "ddl":
        t_env.execute_sql(
            "create table source (word STRING) with ('connector' = 'filesystem', 'format' = "
            f"'csv', 'path' = '{tmp_path}/in.csv')"
        )
        t_env.execute_sql(
            "create table sink (word STRING, `count` BIGINT) with ('connector' = 'filesystem', "
            f"'format' = 'canal-json', 'path' = '{out}')"
        )
    else:
        counts = (
            Schema.new_builder()
            .column("word", DataTypes.STRING())
            .column("count", DataTypes.BIGINT())
            .build()
        )
        lines = Schema.new_builder().column("word", DataTypes.STRING()).build()
        t_env.create_temporary_table(
            "source",
            TableDescriptor.for_connector("filesystem")
            .schema(lines)
            .option("path", f"{tmp_path}/in.csv")
            .format("csv")
            .build(),
        )
        if by == "descriptor":
            sink = (
                TableDescriptor.for_connector("filesystem")
                .schema(counts)
                .option("path", str(out))
                .format(FormatDescriptor.for_format("canal-json").build())
            )
        else:
            sink = TableDescriptor.for_connector("print").schema(counts)
        t_env.create_temporary_table("sink", sink.build())
    table = t_env.from_path("source")
    if by == "elements":
        table = t_env.from_elements(((line,) for line in ["to be", "to see"]), WORDS)
    counted = table.flat_map(words).alias("word").group_by(col("word"))
    counted.select(col("word"), lit(1).count).execute_insert("sink").wait()
    if by == "elements":
        assert "+I[see, 1]" in capsys.readouterr().out
    else:
        texts = "".join(path.read_text() for path in out.rglob("*") if path.is_file())
        assert '"word":"to","count":2' in texts


def sequence(t_env: TableEnvironment, name: str, count: int) -> None:
    t_env.execute_sql(
        f"CREATE TABLE {name} (id BIGINT, data TINYINT) WITH ('connector' = 'datagen', "
        f"'fields.id.kind'='sequence', 'fields.id.start'='1', 'fields.id.end'='{count}', "
        f"'fields.data.kind'='sequence', 'fields.data.start'='4', 'fields.data.end'='{count + 3}')"
    )


def printing(t_env: TableEnvironment, name: str, columns: str) -> None:
    t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'print')")


@pytest.mark.turns(7)
def test_intro_structure(t_env: TableEnvironment, capsys: Any) -> None:
    sequence(t_env, "numbers", 3)
    printing(t_env, "print", "id BIGINT, data TINYINT")
    source = t_env.from_path("numbers")
    source.select(source.id + 1, source.data).execute_insert("print").wait()
    t_env.execute_sql("INSERT INTO print SELECT * FROM numbers").wait()
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == sorted(["+I[1, 4]", "+I[2, 5]", "+I[3, 6]", "+I[2, 4]", "+I[3, 5]", "+I[4, 6]"])


@pytest.mark.turns(7)
def test_intro_lists(any_env: TableEnvironment) -> None:
    given = [(1, "Hi"), (2, "Hello")]
    frame = any_env.from_elements(given).to_pandas()
    assert list(frame.columns) == ["_1", "_2"]
    frame = any_env.from_elements(given, ["id", "data"]).to_pandas()
    assert list(frame.columns) == ["id", "data"]
    assert frame["id"].dtype == np.int64
    small = DataTypes.ROW(
        [DataTypes.FIELD("id", DataTypes.TINYINT()), DataTypes.FIELD("data", DataTypes.STRING())]
    )
    assert any_env.from_elements(given, small).to_pandas()["id"].dtype == np.int8


@pytest.mark.turns(7)
def test_intro_connector_and_catalog(any_env: TableEnvironment) -> None:
    sequence(any_env, "numbers", 3)
    assert rows(any_env.from_path("numbers")) == [(1, 4), (2, 5), (3, 6)]
    table = any_env.from_elements([(1, "Hi"), (2, "Hello")], ["id", "data"])
    any_env.create_temporary_view("source_table", table)
    assert rows(any_env.from_path("source_table")) == [(1, "Hi"), (2, "Hello")]


@pytest.mark.turns(7)
def test_intro_queries(any_env: TableEnvironment) -> None:
    orders = any_env.from_elements(
        [("Jack", "FRANCE", 10), ("Rose", "ENGLAND", 30), ("Jack", "FRANCE", 20)],
        ["name", "country", "revenue"],
    )
    revenue = (
        orders.select(orders.name, orders.country, orders.revenue)
        .where(orders.country == "FRANCE")
        .group_by(orders.name)
        .select(orders.name, orders.revenue.sum.alias("rev_sum"))
    )
    frame = revenue.to_pandas()
    assert list(frame.columns) == ["name", "rev_sum"]
    assert rows(frame) == [("Jack", 30)]
    tenfold = udf(
        lambda x: pd.concat([x.name, x.revenue * 10], axis=1),
        result_type=DataTypes.ROW(
            [
                DataTypes.FIELD("name", DataTypes.STRING()),
                DataTypes.FIELD("revenue", DataTypes.BIGINT()),
            ]
        ),
        func_type="pandas",
    )
    mapped = orders.map(tenfold).alias("name", "revenue")
    assert rows(mapped) == [("Jack", 100), ("Jack", 200), ("Rose", 300)]


@pytest.mark.turns(7)
def test_intro_sql(any_env: TableEnvironment, capsys: Any) -> None:
    sequence(any_env, "numbers", 8)
    printing(any_env, "print_sink", "id BIGINT, data_sum TINYINT")
    any_env.execute_sql(
        "INSERT INTO print_sink SELECT id, sum(data) as data_sum FROM (SELECT id / 2 as id, data "
        "FROM numbers) WHERE id > 1 GROUP BY id"
    ).wait()
    lines = capsys.readouterr().out.splitlines()
    assert "[2, 15]" in {line[2:] for line in lines}
    assert "[3, 19]" in {line[2:] for line in lines}
    assert "+I[4, 11]" in lines


@pytest.mark.turns(7)
def test_intro_tables_and_sql(any_env: TableEnvironment, capsys: Any) -> None:
    printing(any_env, "table_sink", "id BIGINT, data VARCHAR")
    table = any_env.from_elements([(1, "Hi"), (2, "Hello")], ["id", "data"])
    any_env.create_temporary_view("table_api_table", table)
    any_env.execute_sql("INSERT INTO table_sink SELECT * FROM table_api_table").wait()
    table.execute_insert("table_sink").wait()
    assert capsys.readouterr().out.splitlines().count("+I[1, Hi]") == 2
    sequence(any_env, "sql_source", 4)
    assert len(any_env.sql_query("SELECT * FROM sql_source").to_pandas()) == 4
    source = any_env.from_elements([(1, "Hi", "a"), (2, "Hello", "a")], ["a", "b", "c"])
    result = any_env.execute_sql(f"select a + 1, b, c from {source}")
    with result.collect() as results:
        assert [tuple(each) for each in results] == [(2, "Hi", "a"), (3, "Hello", "a")]


@pytest.mark.turns(7)
def test_intro_statement_sets(any_env: TableEnvironment, capsys: Any) -> None:
    table = any_env.from_elements([(1, "Hi"), (2, "Hello")], ["id", "data"])
    any_env.create_temporary_view("simple_source", table)
    printing(any_env, "sink_1", "id BIGINT, data VARCHAR")
    printing(any_env, "sink_2", "id BIGINT, data VARCHAR")
    statements = any_env.create_statement_set()
    statements.add_insert("sink_1", table.where(table.data.like("H%")))
    statements.add_insert_sql("INSERT INTO sink_2 SELECT * FROM simple_source")
    plan = statements.explain()
    assert "Abstract Syntax Tree" in plan
    statements.execute().wait()
    assert capsys.readouterr().out.splitlines().count("+I[2, Hello]") == 2
    union = table.where(table.data.like("H%")).union_all(table)
    assert "Union" in union.explain()


@pytest.mark.turns(7)
def test_environments_and_their_settings(tmp_path: Path) -> None:
    with run_local():
        settings = EnvironmentSettings.new_instance().in_streaming_mode().build()
        TableEnvironment.create(settings)
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        assert isinstance(t_env.get_config(), TableConfig)
        for key, value in {
            "parallelism.default": "8",
            "restart-strategy": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "3",
            "restart-strategy.fixed-delay.delay": "30s",
            "execution.checkpointing.mode": "EXACTLY_ONCE",
            "execution.checkpointing.interval": "3min",
            "state.backend": "rocksdb",
            "state.checkpoints.dir": f"file://{tmp_path}",
            "python.execution-mode": "thread",
            "python.fn-execution.arrow.batch.size": "100",
        }.items():
            t_env.get_config().get_configuration().set_string(key, value)
        t_env.get_config().set("python.execution-mode", "process")
        assert t_env.get_config().get("parallelism.default", "") == "8"


class Hashed(ScalarFunction):
    def __init__(self) -> None:
        self.factor = 12

    def eval(self, s: Any) -> int:
        return hash(s) * self.factor


class Add(ScalarFunction):
    def eval(self, i: int, j: int) -> int:
        return i + j


class CallableAdd:
    def __call__(self, i: int, j: int) -> int:
        return i + j


def plus(i: int, j: int, k: int) -> int:
    return i + j + k


@udf(result_type=DataTypes.BIGINT())
def decorated(i: int, j: int) -> int:
    return i + j


@udf(
    input_types=[DataTypes.BIGINT(), DataTypes.BIGINT()],
    result_type=DataTypes.BIGINT(),
)
def logged(i: int, j: int) -> int:
    logging.info("debug")
    return i + j


@pytest.mark.turns(7)
def test_scalar_functions(any_env: TableEnvironment) -> None:
    table = any_env.from_elements([("x", 1, 2)], ["text", "a", "b"])
    any_env.create_temporary_view("MyTable", table)
    hashed = udf(Hashed(), result_type=DataTypes.BIGINT())
    chosen = table.select(table.text, hashed(table.a), call(hashed, table.b))
    assert rows(chosen) == [("x", 12, 24)]
    any_env.create_temporary_function("hashed", udf(Hashed(), result_type=DataTypes.BIGINT()))
    assert rows(any_env.sql_query("SELECT text, a, hashed(a) FROM MyTable")) == [("x", 1, 12)]
    ways = [
        udf(Add(), result_type=DataTypes.BIGINT()),
        decorated,
        logged,
        udf(lambda i, j: i + j, result_type=DataTypes.BIGINT()),
        udf(CallableAdd(), result_type=DataTypes.BIGINT()),
        udf(functools.partial(plus, k=0), result_type=DataTypes.BIGINT()),
    ]
    for number, add in enumerate(ways):
        any_env.create_temporary_function(f"add{number}", add)
        assert rows(table.select(add(table.a, table.b))) == [(3,)]
        assert rows(any_env.sql_query(f"SELECT add{number}(a, b) FROM MyTable")) == [(3,)]


class Predict(ScalarFunction):
    """Reads its model when it is opened."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self, function_context: Any) -> None:
        with open(self.path, "rb") as file:
            self.model = pickle.load(file)

    def eval(self, x: Any) -> Any:
        return x * self.model


@pytest.mark.turns(7)
def test_loaded_resources(any_env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(1.5))
    predict = udf(
        Predict(f"{tmp_path}/model.pkl"), result_type=DataTypes.DOUBLE(), func_type="pandas"
    )
    table = any_env.from_elements([(2.0,), (4.0,)], ["x"])
    assert rows(table.select(predict(table.x))) == [(3.0,), (6.0,)]


class Split(TableFunction):
    def eval(self, string: str) -> Iterator[tuple[str, int]]:
        for each in string.split(" "):
            yield each, len(each)


@udtf(result_types=DataTypes.BIGINT())
def generated(x: int) -> Iterator[int]:
    yield 1
    yield 2


@udtf(result_types=DataTypes.BIGINT())
def iterated(x: int) -> Any:
    return range(5)


@udtf(result_types=DataTypes.BIGINT())
def listed(x: int) -> Any:
    return [1, 2, 3]


@pytest.mark.turns(7)
def test_table_functions(any_env: TableEnvironment) -> None:
    table = any_env.from_elements([("a bc",)], ["a"])
    any_env.create_temporary_view("MyTable", table)
    split = udtf(Split(), result_types=[DataTypes.STRING(), DataTypes.INT()])
    wanted = [("a bc", "a", 1), ("a bc", "bc", 2)]
    assert rows(table.join_lateral(split(table.a).alias("word", "length"))) == wanted
    assert rows(table.left_outer_join_lateral(split(table.a).alias("word", "length"))) == wanted
    any_env.create_temporary_function("split_words", split)
    for join in (
        ", LATERAL TABLE(split_words(a)) as T(word, length)",
        " LEFT JOIN LATERAL TABLE(split_words(a)) as T(word, length) ON TRUE",
    ):
        assert rows(any_env.sql_query(f"SELECT a, word, length FROM MyTable{join}")) == wanted
    numbers = any_env.from_elements([(1,)], ["x"])
    for function, count in ((generated, 2), (iterated, 5), (listed, 3)):
        assert len(rows(numbers.join_lateral(function(numbers.x).alias("y")))) == count


class WeightedAvg(AggregateFunction):
    def create_accumulator(self) -> Row:
        return Row(0, 0)

    def get_value(self, accumulator: Row) -> Any:
        if accumulator[1] == 0:
            return None
        return accumulator[0] // accumulator[1]

    def accumulate(self, accumulator: Row, value: int, weight: int) -> None:
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator: Row, value: int, weight: int) -> None:
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()

    def get_accumulator_type(self) -> Any:
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.BIGINT()),
                DataTypes.FIELD("f1", DataTypes.BIGINT()),
            ]
        )


@pytest.mark.turns(7)
def test_aggregate_functions(any_env: TableEnvironment) -> None:
    weighted = udaf(WeightedAvg())
    table = any_env.from_elements(
        [(1, 2, "Lee"), (3, 4, "Jay"), (5, 6, "Jay"), (7, 8, "Lee")]
    ).alias("value", "count", "name")
    # "count" is a method of a table as well as the name of a column
    columns = (table.value, col("count"))
    inline = table.group_by(table.name).select(weighted(*columns).alias("avg"))
    assert rows(inline) == [(4,), (5,)]
    any_env.create_temporary_function("weighted_avg", WeightedAvg())
    called = table.group_by(table.name).select(call("weighted_avg", *columns).alias("avg"))
    assert rows(called) == [(4,), (5,)]
    any_env.create_temporary_view("source", table)
    query = "SELECT weighted_avg(`value`, `count`) AS average FROM source GROUP BY name"
    assert rows(any_env.sql_query(query)) == [(4,), (5,)]


def timed(t_env: TableEnvironment, tmp_path: Path) -> Any:
    (tmp_path / "in.csv").write_text(
        "Lee,1,2,2024-01-01 00:10:00\nJay,3,4,2024-01-01 00:20:00\nLee,5,6,2024-01-01 00:50:00\n"
        "Lee,7,8,2024-01-01 01:10:00\n"
    )
    t_env.execute_sql(
        "CREATE TABLE timed (name STRING, b BIGINT, c BIGINT, rowtime TIMESTAMP(3), WATERMARK FOR "
        "rowtime AS rowtime) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = "
        f"'{tmp_path}/in.csv')"
    )
    return t_env.from_path("timed")


def hourly() -> Any:
    return Tumble.over(lit(1).hours).on(col("rowtime")).alias("w")


@pytest.mark.turns(7)
def test_aggregate_functions_of_windows(any_env: TableEnvironment, tmp_path: Path) -> None:
    windows = timed(any_env, tmp_path).window(hourly()).group_by(col("w"), col("name"))
    weighted = udaf(WeightedAvg())
    found = windows.select(col("w").start, col("w").end, weighted(col("b"), col("c")))
    assert sorted(row[2] for row in rows(found)) == [3, 4, 7]


class Concat(AggregateFunction):
    def get_value(self, accumulator: Row) -> str:
        return str(accumulator[1]).join(accumulator[0])

    def create_accumulator(self) -> Row:
        return Row(ListView(), "")

    def accumulate(self, accumulator: Row, *args: Any) -> None:
        accumulator[1] = args[1]
        accumulator[0].add(args[0])

    def get_accumulator_type(self) -> Any:
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.LIST_VIEW(DataTypes.STRING())),
                DataTypes.FIELD("f1", DataTypes.STRING()),
            ]
        )

    def get_result_type(self) -> Any:
        return DataTypes.STRING()


class ConcatTwice(TableAggregateFunction):
    def emit_value(self, accumulator: Row) -> Iterator[Row]:
        result = str(accumulator[1]).join(accumulator[0])
        yield Row(result)
        yield Row(result)

    def create_accumulator(self) -> Row:
        return Row(ListView(), "")

    def accumulate(self, accumulator: Row, *args: Any) -> None:
        accumulator[1] = args[1]
        accumulator[0].add(args[0])

    def get_accumulator_type(self) -> Any:
        return Concat().get_accumulator_type()

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("a", DataTypes.STRING())])


@pytest.mark.turns(7)
def test_list_views(any_env: TableEnvironment) -> None:
    table = any_env.from_elements([("a", "k"), ("b", "k"), ("c", "k")], ["v", "k"])
    joined = table.group_by(table.k).select(udaf(Concat())(table.v, lit("-")))
    assert rows(joined) == [("a-b-c",)]
    twice = udtaf(ConcatTwice())(table.v, lit(","))
    flat = table.group_by(table.k).flat_aggregate(twice).select(col("a"))
    assert rows(flat) == [("a,b,c",), ("a,b,c",)]


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def add_columns(i: Any, j: Any) -> Any:
    return i + j


@udaf(result_type=DataTypes.FLOAT(), func_type="pandas")
def mean_udaf(v: Any) -> Any:
    return v.mean()


class MaxAdd(AggregateFunction):
    def open(self, function_context: Any) -> None:
        group = function_context.get_metric_group()
        self.counter = group.add_group("key", "value").counter("my_counter")
        self.counter_sum = 0

    def get_value(self, accumulator: list[Any]) -> Any:
        self.counter.inc(10)
        self.counter_sum += 10
        return accumulator[0]

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(sum(arg.max() for arg in args))


class CallableMaxAdd:
    def __call__(self, i: Any, j: Any) -> Any:
        return i.max() + j.max()


def max_plus(i: Any, j: Any, k: int) -> Any:
    return i.max() + j.max() + k


@udaf(result_type=DataTypes.BIGINT(), func_type="pandas")
def max_add(i: Any, j: Any) -> Any:
    return i.max() + j.max()


@pytest.mark.turns(7)
def test_vectorized_functions(any_env: TableEnvironment, tmp_path: Path) -> None:
    table = timed(any_env, tmp_path)
    sums = rows(table.select(add_columns(table.b, table.c)))
    assert sums == [(11,), (15,), (3,), (7,)]
    any_env.create_temporary_function("add", add_columns)
    assert len(rows(any_env.sql_query("SELECT add(b, c) FROM timed"))) == 4
    groups = table.group_by(table.name).select(table.name, mean_udaf(add_columns(table.b, table.c)))
    assert [name for name, _ in rows(groups)] == ["Jay", "Lee"]
    windows = table.window(hourly()).group_by(col("w"))
    found = windows.select(col("w").start, col("w").end, mean_udaf(col("b")))
    assert sorted(row[2] for row in rows(found)) == [3.0, 7.0]
    ways = [
        udaf(MaxAdd(), result_type=DataTypes.BIGINT(), func_type="pandas"),
        max_add,
        udaf(lambda i, j: i.max() + j.max(), result_type=DataTypes.BIGINT(), func_type="pandas"),
        udaf(CallableMaxAdd(), result_type=DataTypes.BIGINT(), func_type="pandas"),
        udaf(functools.partial(max_plus, k=0), result_type=DataTypes.BIGINT(), func_type="pandas"),
    ]
    for way in ways:
        greatest = table.group_by(table.name).select(table.name, way(table.b, table.c))
        assert rows(greatest) == [("Jay", 7), ("Lee", 15)]


@pytest.mark.turns(7)
def test_a_vectorized_function_over_rows(batch_env: TableEnvironment, tmp_path: Path) -> None:
    timed(batch_env, tmp_path)
    batch_env.create_temporary_function("mean_udaf", mean_udaf)
    query = (
        "SELECT name, mean_udaf(b) over (PARTITION BY name ORDER BY rowtime ROWS BETWEEN UNBOUNDED "
        "preceding AND UNBOUNDED FOLLOWING) FROM timed"
    )
    means = [round(float(mean), 2) for name, mean in rows(batch_env.sql_query(query))]
    assert means == [3.0, 4.33, 4.33, 4.33]


PAIR = DataTypes.ROW(
    [DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("data", DataTypes.STRING())]
)


@pytest.mark.turns(7)
def test_rows_are_mapped(any_env: TableEnvironment) -> None:
    table = any_env.from_elements([(1, "Hi"), (2, "Hello")], ["id", "data"])

    @udf(result_type=PAIR)
    def of_columns(id: int, data: str) -> Row:
        return Row(id, data * 2)

    @udf(result_type=PAIR)
    def of_row(data: Row) -> Row:
        return Row(data[0], data[1] * 2)

    @udf(result_type=PAIR, func_type="pandas")
    def of_frame(data: Any) -> Any:
        return pd.concat([data.id, data.data * 2], axis=1)

    wanted = [(1, "HiHi"), (2, "HelloHello")]
    assert rows(table.map(of_columns(col("id"), col("data")))) == wanted
    for function in (of_row, of_frame):
        frame = table.map(function).alias("id", "data").to_pandas()
        assert list(frame.columns) == ["id", "data"]
        assert rows(frame) == wanted


@pytest.mark.turns(7)
def test_rows_are_split(any_env: TableEnvironment) -> None:
    table = any_env.from_elements([(1, "Hi,Flink"), (2, "Hello")], ["id", "data"])

    @udtf(result_types=[DataTypes.INT(), DataTypes.STRING()])
    def split(x: Row) -> Iterator[tuple[int, str]]:
        for each in x[1].split(","):
            yield x[0], each

    frame = table.flat_map(split).to_pandas()
    assert list(frame.columns) == ["f0", "f1"]
    assert rows(frame) == [(1, "Flink"), (1, "Hi"), (2, "Hello")]
    joined = table.join_lateral(split.alias("a", "b")).to_pandas()
    assert list(joined.columns) == ["id", "data", "a", "b"]
    assert len(joined) == 3


class CountAndSum(AggregateFunction):
    def get_value(self, accumulator: Row) -> Row:
        return Row(accumulator[0], accumulator[1])

    def create_accumulator(self) -> Row:
        return Row(0, 0)

    def accumulate(self, accumulator: Row, *args: Any) -> None:
        accumulator[0] += 1
        accumulator[1] += args[0][1]

    def retract(self, accumulator: Row, *args: Any) -> None:
        accumulator[0] -= 1
        accumulator[1] -= args[0][1]

    def merge(self, accumulator: Row, accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_accumulator_type(self) -> Any:
        return DataTypes.ROW(
            [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
        )

    def get_result_type(self) -> Any:
        return self.get_accumulator_type()


@pytest.mark.turns(7)
def test_rows_are_aggregated(any_env: TableEnvironment) -> None:
    function = CountAndSum()
    aggregate = udaf(
        function,
        result_type=function.get_result_type(),
        accumulator_type=function.get_accumulator_type(),
        name=str(function.__class__.__name__),
    )
    table = any_env.from_elements([(1, 2), (2, 1), (1, 3)], ["a", "b"])
    grouped = table.group_by(col("a")).aggregate(aggregate.alias("c", "d"))
    assert rows(grouped.select(col("a"), col("c"), col("d"))) == [(1, 2, 5), (2, 1, 1)]
    spread = udaf(
        lambda frame: (frame.b.mean(), frame.b.max()),
        result_type=DataTypes.ROW(
            [DataTypes.FIELD("a", DataTypes.FLOAT()), DataTypes.FIELD("b", DataTypes.INT())]
        ),
        func_type="pandas",
    )
    whole = table.aggregate(spread.alias("a", "b")).select(col("a"), col("b"))
    assert rows(whole) == [(2.0, 3)]


class Top2(TableAggregateFunction):
    def emit_value(self, accumulator: list[Any]) -> Iterator[Row]:
        yield Row(accumulator[0])
        yield Row(accumulator[1])

    def create_accumulator(self) -> list[Any]:
        return [None, None]

    def accumulate(self, accumulator: list[Any], row: Row) -> None:
        if row[0] is None:
            return
        if accumulator[0] is None or row[0] > accumulator[0]:
            accumulator[1] = accumulator[0]
            accumulator[0] = row[0]
        elif accumulator[1] is None or row[0] > accumulator[1]:
            accumulator[1] = row[0]

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT())])


@pytest.mark.turns(7)
def test_greatest_two(any_env: TableEnvironment) -> None:
    table = any_env.from_elements(
        [(1, "Hi", "a"), (3, "Hi", "b"), (5, "Hi2", "b"), (7, "Hi", "a"), (2, "Hi", "a")],
        ["a", "b", "c"],
    )
    found = table.group_by(table.b).flat_aggregate(udtaf(Top2())).select(col("*"))
    frame = found.to_pandas()
    assert sorted(frame[frame.a.notna()].itertuples(index=False)) == [
        ("Hi", 3),
        ("Hi", 7),
        ("Hi2", 5),
    ]
    assert list(frame[frame.a.isna()].b) == ["Hi2"]


@pytest.mark.turns(7)
def test_frames(any_env: TableEnvironment) -> None:
    frame = pd.DataFrame(np.random.rand(1000, 2))
    both = [DataTypes.DOUBLE(), DataTypes.DOUBLE()]
    named = DataTypes.ROW([DataTypes.FIELD(n, DataTypes.DOUBLE()) for n in ("f0", "f1")])
    for schema in (None, ["f0", "f1"], both, named):
        table = any_env.from_pandas(frame) if schema is None else any_env.from_pandas(frame, schema)
        assert len(table.to_pandas()) == 1000
    table = any_env.from_pandas(frame, ["a", "b"]).filter(col("a") > 0.5)
    assert len(table.limit(100).to_pandas()) == 100
    assert (table.to_pandas().a > 0.5).all()


class Measured(ScalarFunction):
    """Has a metric of each kind."""

    def __init__(self) -> None:
        self.length = 0

    def open(self, function_context: Any) -> None:
        super().open(function_context)
        group = function_context.get_metric_group()
        self.counter = group.counter("my_counter")
        group.gauge("my_gauge", lambda: self.length)
        self.distribution = group.distribution("my_distribution")
        self.meter = group.meter("my_meter", time_span_in_seconds=120)
        group.add_group("my_metrics").counter("my_counter").inc()
        group.add_group("my_key", "my_value").counter("my_counter").inc(2)

    def eval(self, i: int) -> int:
        self.length = i
        self.counter.inc(i)
        self.distribution.update(i)
        self.meter.mark_event(i)
        return i - 1


@pytest.mark.turns(7)
def test_metrics(any_env: TableEnvironment) -> None:
    measured = udf(Measured(), result_type=DataTypes.BIGINT())
    table = any_env.from_elements([(1,), (2,)], ["i"])
    assert rows(table.select(measured(table.i))) == [(0,), (1,)]


@pytest.mark.turns(7)
def test_kafka_is_declared(t_env: TableEnvironment, tmp_path: Path) -> None:
    """Nothing is asked of a broker until the job runs; its own tests run the job."""
    jars = []
    for name in ("connector", "json"):
        with zipfile.ZipFile(tmp_path / f"{name}.jar", "w") as made:
            made.writestr("META-INF/MANIFEST.MF", "")
        jars.append(f"file://{tmp_path}/{name}.jar")
    t_env.get_config().set("pipeline.jars", ";".join(jars))
    t_env.get_config().get_configuration().set_string("pipeline.classpaths", ";".join(jars))
    t_env.execute_sql(
        "CREATE TABLE source_table (a VARCHAR, b INT) WITH ('connector' = 'kafka', 'topic' = "
        "'source_topic', 'properties.bootstrap.servers' = 'kafka:9092', 'properties.group.id' = "
        "'test_3', 'scan.startup.mode' = 'latest-offset', 'format' = 'json')"
    )
    t_env.execute_sql(
        "CREATE TABLE sink_table (a VARCHAR) WITH ('connector' = 'kafka', 'topic' = 'sink_topic', "
        "'properties.bootstrap.servers' = 'kafka:9092', 'format' = 'json')"
    )
    plan = t_env.explain_sql("INSERT INTO sink_table SELECT a FROM source_table")
    assert "sink_table" in plan


@pytest.mark.turns(7)
def test_dependencies(any_env: TableEnvironment, tmp_path: Path) -> None:
    package = tmp_path / "shipped" / "table_page_utils"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "page_util.py").write_text("ANSWER = 42\n")
    any_env.add_python_file(str(tmp_path / "shipped"))
    archive = tmp_path / "data.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("data/data.txt", "seven")
    any_env.add_python_archive(archive_path=str(archive), target_dir=None)
    any_env.add_python_archive(str(archive), "mine")

    @udf(result_type=DataTypes.BIGINT())
    def answer(value: int) -> int:
        from table_page_utils import page_util

        return int(value + page_util.ANSWER)

    table = any_env.from_elements([(1,)], ["n"])
    assert rows(table.select(answer(table.n))) == [(43,)]
    any_env.get_config().set_python_executable("mine/data/bin/python")
    assert any_env.get_config().get_python_executable() == "mine/data/bin/python"
