"""Python functions of users in statements."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import cloudpickle
import pyarrow.compute as pc
import pytest

from millrace.common import Row
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.expressions.scalar_functions import scalar_function
from millrace.table import (
    AsyncScalarFunction,
    DataTypes,
    EnvironmentSettings,
    FunctionContext,
    ScalarFunction,
    TableEnvironment,
)
from millrace.table.catalog.errors import CatalogError
from millrace.table.udf import udf
from millrace.testing import run_local


@udf(result_type="BIGINT")
def add(left: int, right: int) -> int:
    """Named by a statement below."""
    return left + right


def no_udf(value: int) -> int:
    return value


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(query).collect() as found:
        return [tuple(row) for row in found]


@pytest.fixture
def pairs() -> Iterator[TableEnvironment]:
    """Three rows, which come in one batch: some tests tell of it."""
    names = DataTypes.of("ROW<a BIGINT, b BIGINT, word STRING>")
    elements = [(1, 10, "x"), (2, None, "y"), (3, 2**60 + 1, None)]
    with run_local():
        env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        env.create_temporary_view("pairs", env.from_elements(elements, names))
        yield env


@pytest.mark.parametrize(
    ("func_type", "function"),
    [
        ("general", lambda a, b: None if b is None else a + b),
        ("pandas", lambda a, b: a + b),
        ("arrow", pc.add),
    ],
)
def test_a_function_of_each_type(pairs: TableEnvironment, func_type: str, function: Any) -> None:
    """Large integers beside a null stay what they are, in pandas, too."""
    pairs.create_temporary_function(
        "plus", udf(function, result_type="BIGINT", func_type=func_type)
    )
    assert rows(pairs, "SELECT plus(a, b) FROM pairs") == [(11,), (None,), (2**60 + 4,)]


def test_it_stands_wherever_an_expression_does(pairs: TableEnvironment) -> None:
    pairs.create_temporary_function("parity", udf(lambda a: a % 2, result_type="BIGINT"))
    found = rows(
        pairs,
        "SELECT parity(a), SUM(parity(a) + 1) FROM pairs WHERE parity(a) >= 0 "
        "GROUP BY parity(a) HAVING parity(a) < 2 ORDER BY parity(a)",
    )
    assert found == [(0, 1), (1, 4)]
    joined = "SELECT x.a, y.a FROM pairs x JOIN pairs y ON parity(x.a) = y.a ORDER BY x.a"
    assert rows(pairs, joined) == [(1, 1), (3, 1)]


def test_values_of_every_kind_go_in_and_out(batch_env: TableEnvironment) -> None:
    kind = (
        "ROW<d DATE, t TIMESTAMP(3), n DECIMAL(10, 2), raw BYTES, l ARRAY<INT>, "
        "m MAP<STRING, INT>, r ROW<x INT, y STRING>, f BOOLEAN>"
    )
    element = (
        date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5), Decimal("1.50"), b"\x00", [1, None],
        {"k": 1}, Row(x=1, y="z"), True,
    )  # fmt: skip
    batch_env.create_temporary_view("v", batch_env.from_elements([element], DataTypes.of(kind)))
    batch_env.create_temporary_function(
        "kind_of", udf(lambda value: type(value).__name__, result_type="STRING")
    )
    for field, value in zip(DataTypes.of(kind).fields, element, strict=True):
        batch_env.create_temporary_function("same", udf(lambda v: v, result_type=field.type))
        found = rows(batch_env, f"SELECT same(`{field.name}`), kind_of(`{field.name}`) FROM v")
        assert found == [(value, type(value).__name__)]
        assert batch_env.drop_temporary_function("same")


class Labelled(ScalarFunction):
    """Keeps what it got when it was opened."""

    def open(self, function_context: FunctionContext) -> None:
        self.label = function_context.get_job_parameter("label", "none")
        self.missing = function_context.get_job_parameter("missing", "default")

    def eval(self, value: str) -> str:
        return f"{self.label}/{self.missing}/{value}"

    def is_deterministic(self) -> bool:
        return False


def test_a_function_that_is_opened() -> None:
    settings = Configuration({"pipeline.global-job-parameters": "label:big"})
    with run_local():
        t_env = TableEnvironment.create(
            EnvironmentSettings.new_instance().in_batch_mode().with_configuration(settings).build()
        )
        t_env.create_temporary_system_function("label", udf(Labelled(), result_type="STRING"))
        assert rows(t_env, "SELECT label('x')") == [("big/default/x",)]


def test_what_is_not_deterministic_is_called_once_per_row(pairs: TableEnvironment) -> None:
    counted = iter(range(1_000_000))
    pairs.create_temporary_function(
        "tick", udf(lambda: next(counted), result_type="BIGINT", deterministic=False)
    )
    [*found] = rows(pairs, "SELECT t, t + 0 FROM (SELECT tick() AS t FROM pairs) WHERE t >= 0")
    assert found == [(0, 0), (1, 1), (2, 2)]


def test_names_are_found_in_flinks_order(pairs: TableEnvironment) -> None:
    """Temporary system functions, system functions, temporary functions, those of the catalog."""
    pairs.execute_sql(f"CREATE FUNCTION own AS '{__name__}.add' LANGUAGE PYTHON")
    assert rows(pairs, "SELECT own(1, 2)") == [(3,)]
    pairs.create_temporary_function("own", udf(lambda a, b: 0, result_type="INT"))
    assert rows(pairs, "SELECT own(1, 2), default_database.own(1, 2)") == [(0, 0)]
    pairs.create_temporary_system_function("OWN", udf(lambda a, b: -1, result_type="INT"))
    assert rows(pairs, "SELECT own(1, 2), default_database.own(1, 2)") == [(-1, 0)]
    pairs.create_temporary_function("upper", udf(lambda a: "mine", result_type="STRING"))
    assert rows(pairs, "SELECT UPPER('a'), default_database.`upper`('a')") == [("A", "mine")]
    pairs.create_temporary_system_function("upper", udf(lambda a: "m", result_type="STRING"))
    assert rows(pairs, "SELECT UPPER('a')") == [("m",)]
    assert pairs.list_user_defined_functions() == ["own", "upper"]
    assert {"own", "upper", "concat"} <= set(pairs.list_functions())
    assert pairs.drop_temporary_system_function("Own")
    assert pairs.drop_temporary_function("own")
    assert rows(pairs, "SELECT own(1, 2)") == [(3,)]
    assert pairs.drop_function("own")
    assert not pairs.drop_function("own")
    with pytest.raises(JobDefinitionError, match="no function called 'own'"):
        rows(pairs, "SELECT own(1, 2)")


def test_arguments_are_cast_to_what_is_declared(pairs: TableEnvironment) -> None:
    half = udf(lambda x: x / 2, input_types=["DOUBLE"], result_type="DOUBLE")
    pairs.create_temporary_function("half", half)
    assert rows(pairs, "SELECT half(a) FROM pairs WHERE a = 3") == [(1.5,)]
    with pytest.raises(
        JobDefinitionError, match=r"half does not take \(STRING\).*\n.*half\(DOUBLE"
    ):
        rows(pairs, "SELECT half(word) FROM pairs")
    with pytest.raises(JobDefinitionError, match="half does not take"):
        rows(pairs, "SELECT half(a, b) FROM pairs")


def test_what_fails_shows_the_users_code_first(pairs: TableEnvironment) -> None:
    def broken(value: int) -> float:
        return 1 / (value - value)

    pairs.create_temporary_function("broken", udf(broken, result_type="DOUBLE"))
    with pytest.raises(JobExecutionError) as failed:
        rows(pairs, "SELECT broken(a) FROM pairs")
    said = str(failed.value)
    assert "ZeroDivisionError" in said
    assert "in broken" in said
    assert "expressions/scalar_functions.py" not in said
    assert "in the function broken, called in a statement" in said


@pytest.mark.parametrize(
    ("function", "func_type", "said"),
    [
        (lambda a: "many", "general", "gave 'many', of the type str; its result_type is BIGINT"),
        (lambda a: 2**70, "general", "gave 1180591620717411303424, of the type int"),
        (lambda a: 1.5, "general", "gave 1.5, of the type float"),
        (lambda a: Decimal("1.5"), "general", "of the type Decimal"),
        (lambda a: 5, "pandas", "gave 5, which is not a pandas.Series"),
        (lambda a: a[:1], "pandas", "gave 1 values for 3 rows"),
        (lambda a: a.astype("str"), "pandas", "gave a Series of "),
        (lambda a: 5, "arrow", "gave 5, which is not a pyarrow.Array"),
    ],
)
def test_values_that_are_not_of_the_declared_type(
    pairs: TableEnvironment, function: Any, func_type: str, said: str
) -> None:
    made = udf(function, result_type="BIGINT", func_type=func_type)
    pairs.create_temporary_function("wrong", made)
    with pytest.raises(JobExecutionError, match=said) as failed:
        rows(pairs, "SELECT wrong(a) FROM pairs")
    assert "Traceback" not in str(failed.value)


@pytest.mark.parametrize("arguments", ["a", "a, a, a, a", ""])
def test_a_wrong_number_of_arguments(pairs: TableEnvironment, arguments: str) -> None:
    def least(one: int, two: int, three: Any = None) -> int:
        return min(one, two)

    pairs.create_temporary_function("least_of", udf(least, result_type="BIGINT"))
    assert rows(pairs, "SELECT least_of(a, 1) FROM pairs WHERE a = 2") == [(1,)]
    assert rows(pairs, "SELECT least_of(a, 1, 'x') FROM pairs WHERE a = 2") == [(1,)]
    with pytest.raises(JobDefinitionError, match=r"least_of\(one, two, \[three\]\)"):
        pairs.sql_query(f"SELECT least_of({arguments}) FROM pairs")


def test_wrong_declarations(batch_env: TableEnvironment) -> None:
    for wrong, said in (
        (lambda: udf(lambda a: a), "needs the result_type"),
        (lambda: udf(5, result_type="INT"), "takes a function or an object with a method eval"),
        (lambda: udf(Labelled, result_type="INT"), r"write Labelled\(\)"),
        (lambda: udf(len, result_type="INT", func_type="fast"), "not 'fast'"),
        (lambda: udf(len, result_type="NUMBER"), "NUMBER"),
        (
            lambda: udf(lambda one: one, input_types=["INT", "INT"], result_type="INT"),
            r"got 2 input_types, but .*<lambda> takes \(one\)",
        ),
    ):
        with pytest.raises(JobDefinitionError, match=said):
            wrong()
    with pytest.raises(CatalogError, match=r"was not made by udf\(\)"):
        batch_env.create_temporary_function("f", no_udf)  # type: ignore[arg-type]
    batch_env.create_temporary_function("f", add)
    with pytest.raises(CatalogError, match="f"):
        batch_env.create_temporary_function("F", add)
    for path, said in (
        ("nowhere.f", "cannot be imported: No module named 'nowhere'"),
        (f"{__name__}.missing", "cannot be imported"),
        (f"{__name__}.no_udf", "decorate it with @udf"),
        ("f", "'module.function'"),
    ):
        batch_env.execute_sql(f"CREATE TEMPORARY FUNCTION g AS '{path}' LANGUAGE PYTHON")
        with pytest.raises(CatalogError, match=said):
            rows(batch_env, "SELECT g(1)")
        batch_env.execute_sql("DROP TEMPORARY FUNCTION g")


def test_a_stream_with_retractions(t_env: TableEnvironment) -> None:
    """A function stands over changing rows, too: what it gave is taken back with its row."""
    t_env.create_temporary_function("twice", udf(lambda n: 2 * n, result_type="BIGINT"))
    elements = [("a", 1), ("b", 2), ("a", 3)]
    table = t_env.from_elements(elements, DataTypes.of("ROW<k STRING, n BIGINT>"))
    t_env.create_temporary_view("v", table)
    query = "SELECT twice(n), COUNT(*) FROM (SELECT k, SUM(n) AS n FROM v GROUP BY k) GROUP BY n"
    with t_env.execute_sql(query).collect() as changes:
        left: dict[Any, int] = {}
        for row in changes:
            sign = 1 if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER") else -1
            left[tuple(row)] = left.get(tuple(row), 0) + sign
    assert {row for row, count in left.items() if count} == {(8, 1), (4, 1)}


def test_a_definition_is_opened_anew_in_another_process() -> None:
    opened: list[int] = []

    class Opened(ScalarFunction):
        def open(self, function_context: FunctionContext) -> None:
            opened.append(1)

        def eval(self) -> int:
            return 1

    definition = scalar_function("F", Opened(), "INT")
    again = cloudpickle.loads(cloudpickle.dumps(definition))
    assert again.name == "F"
    assert not opened


@pytest.mark.parametrize(
    ("kind", "value", "wrong"),
    [
        ("ARRAY<INT>", [1, None], [1.5]),
        ("ROW<a INT, b STRING>", Row(a=1, b="x"), Row(a=1.5, b="x")),
        ("MAP<STRING, ROW<a INT>>", {"x": Row(a=1), "y": None}, {"x": Row(a=1.5)}),
        ("ARRAY<MAP<STRING, ARRAY<BIGINT>>>", [{"x": [1]}], [{"x": [Decimal("1.5")]}]),
    ],
)
def test_what_is_nested_is_kept_exactly_or_refused(
    pairs: TableEnvironment, kind: str, value: Any, wrong: Any
) -> None:
    pairs.create_temporary_function("good", udf(lambda: value, result_type=kind))
    pairs.create_temporary_function("bad", udf(lambda: wrong, result_type=kind))
    assert rows(pairs, "SELECT good() FROM pairs WHERE a = 1") == [(value,)]
    with pytest.raises(JobExecutionError, match="bad gave "):
        rows(pairs, "SELECT bad() FROM pairs WHERE a = 1")


def test_a_function_is_opened_with_the_parameters_of_its_statement(
    batch_env: TableEnvironment,
) -> None:
    batch_env.create_temporary_function("label", udf(Labelled(), result_type="STRING"))
    for label in ("one", "two"):
        batch_env.execute_sql(f"SET 'pipeline.global-job-parameters' = 'label:{label}'")
        assert rows(batch_env, "SELECT label('x')") == [(f"{label}/default/x",)]


def test_two_names_of_a_function_are_two(batch_env: TableEnvironment) -> None:
    for name in ("f", "g"):
        batch_env.execute_sql(
            f"CREATE TEMPORARY FUNCTION {name} AS '{__name__}.add' LANGUAGE PYTHON"
        )
    plan = batch_env.explain_sql("SELECT f(n, 1), g(n, 1) FROM (VALUES (1), (2)) AS t (n)")
    assert "f(" in plan
    assert "g(" in plan


@pytest.mark.parametrize("func_type", ["general", "pandas", "arrow"])
def test_none_of_a_function_that_is_declared_not_null(
    batch_env: TableEnvironment, func_type: str
) -> None:
    bodies: dict[str, Any] = {
        "general": lambda value: None,
        "pandas": lambda values: values.map({}),
        "arrow": lambda values: pc.if_else(pc.equal(values, 1), None, values),
    }
    nothing = udf(bodies[func_type], result_type="BIGINT NOT NULL", func_type=func_type)
    batch_env.create_temporary_function("nothing", nothing)
    with pytest.raises(JobExecutionError, match="nothing gave None, but its result_type is BIGINT"):
        list(batch_env.execute_sql("SELECT nothing(i) FROM (VALUES (1), (2)) AS t(i)").collect())


def test_an_asynchronous_function(pairs: TableEnvironment) -> None:
    """Calls run beside each other, results stay in order."""
    running: list[int] = []

    @udf(result_type="BIGINT")
    async def waits(a: int) -> int:
        running.append(a)
        while len(running) < 3:
            await asyncio.sleep(0)
        return a * 10

    pairs.create_temporary_function("waits", waits)
    assert rows(pairs, "SELECT a, waits(a) FROM pairs") == [(1, 10), (2, 20), (3, 30)]


class Flaky(AsyncScalarFunction):
    """Fails at first, or always, for each argument."""

    def __init__(self, failures: int) -> None:
        self.failures, self.calls = failures, Counter[int]()

    async def eval(self, a: int) -> int:
        self.calls[a] += 1
        if self.calls[a] <= self.failures:
            raise ConnectionError(f"no answer about {a}")
        return a


def test_an_asynchronous_function_is_tried_again(pairs: TableEnvironment) -> None:
    pairs.get_config().set("table.exec.async-scalar.retry-delay", "0 ms")
    pairs.create_temporary_function("flaky", udf(Flaky(2), result_type="BIGINT"))
    assert rows(pairs, "SELECT flaky(a) FROM pairs") == [(1,), (2,), (3,)]
    pairs.create_temporary_function("dead", udf(Flaky(3), result_type="BIGINT"))
    with pytest.raises(JobExecutionError, match="no answer about 1"):
        rows(pairs, "SELECT dead(a) FROM pairs WHERE a = 1")


def test_an_asynchronous_function_that_never_ends(pairs: TableEnvironment) -> None:
    @udf(result_type="BIGINT")
    async def hangs(a: int) -> int:
        await asyncio.Event().wait()
        return a

    pairs.get_config().set("table.exec.async-scalar.timeout", "5 ms")
    pairs.create_temporary_function("hangs", hangs)
    with pytest.raises(JobExecutionError, match=r"took longer than 5 ms .*async-scalar\.timeout"):
        rows(pairs, "SELECT hangs(a) FROM pairs")


def test_an_asynchronous_function_is_no_vectorised_one() -> None:
    async def of_series(values: Any) -> Any:
        return values

    with pytest.raises(JobDefinitionError, match="func_type: of_series takes values"):
        udf(of_series, result_type="BIGINT", func_type="pandas")


def test_rows_as_data_frames(batch_env: TableEnvironment) -> None:
    """`map` of a pandas function: a DataFrame in, a DataFrame out."""
    kind = DataTypes.of("ROW<n BIGINT, name STRING>")
    table = batch_env.from_elements([(1, "a"), (None, "b"), (2**60 + 1, None)], kind)
    halved = udf(
        lambda frame: frame.assign(n=frame["n"] + 1)[["name", "n"]],
        result_type="ROW<who STRING, more BIGINT>",
        func_type="pandas",
    )
    with table.map(halved).execute().collect() as found:
        assert [tuple(row) for row in found] == [("a", 2), ("b", None), (None, 2**60 + 2)]
    short = udf(lambda frame: frame[["n"]], result_type="ROW<a INT, b INT>", func_type="pandas")
    with pytest.raises(JobExecutionError, match="a DataFrame of the columns n"):
        list(table.map(short).execute().collect())


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (
            "DECIMAL(5, 2)",
            [Decimal("1.005"), None, Decimal("99999")],
            [Decimal("1.01"), None, None],
        ),
        ("INT", [Decimal(2), None, 3], [2, None, 3]),
        ("INT", [Decimal("1.005"), None, 3], None),
    ],
)
def test_pythons_numbers_in_a_series(
    batch_env: TableEnvironment, kind: str, given: list[Any], expected: list[Any] | None
) -> None:
    """As in a general function: rounded to the scale, but no fraction is cut off."""
    pandas = pytest.importorskip("pandas")

    def numbers(rows: Any) -> Any:
        return pandas.Series([given[row] for row in rows], dtype=object)

    function = udf(numbers, result_type=kind, func_type="pandas")
    table = batch_env.from_elements([(0,), (1,), (2,)], ["i"])
    found = table.select(table.i, function(table.i))
    if expected is None:
        with pytest.raises(Exception, match="numbers gave a Series of object"):
            list(found.execute().collect())
    else:
        assert [
            row[1] for row in sorted(found.execute().collect(), key=lambda row: row[0])
        ] == expected
