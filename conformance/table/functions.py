"""Flink's pages on functions in Python: scalar and table functions, row by row and with pandas."""

from conformance.table_data import table
from conformance.table_program import in_batch
from pyflink.common import Row
from pyflink.table import DataTypes
from pyflink.table.expressions import call, col, lit
from pyflink.table.udf import ScalarFunction, TableFunction, udf, udtf
from pyflink.table.window import Tumble


@udf(result_type=DataTypes.BIGINT())
def _plus(a, b):
    return None if a is None or b is None else a + b


@udf(result_type="STRING")
def _shout(text):
    return text and f"{text.upper()}!"


class _Times(ScalarFunction):
    def __init__(self, factor):
        self.factor = factor
        self.extra = 0

    def open(self, function_context):
        self.extra = 1

    def eval(self, number):
        return number * self.factor + self.extra


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def _plus_of_series(a, b):
    return a + b


@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("who", DataTypes.STRING()), DataTypes.FIELD("twice", DataTypes.BIGINT())]
    )
)
def _doubled(order):
    return Row(order.customer, order.amount * 2)


@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("who", DataTypes.STRING()), DataTypes.FIELD("half", DataTypes.DOUBLE())]
    ),
    func_type="pandas",
)
def _halved(orders):
    import pandas as pd

    return pd.DataFrame({"who": orders["customer"], "half": orders["amount"] / 2})


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def _letters(text):
    for position, letter in enumerate(text or ""):
        yield letter, position


class _Repeat(TableFunction):
    def eval(self, text, times):
        for number in range(times or 0):
            yield text, number


@udtf(result_types=[DataTypes.BIGINT(), DataTypes.STRING()])
def _split_order(order):
    for number in range(order.amount):
        if number > 6:
            yield order.id, f"{order.product} {number}"


def _customers(t_env):
    return table(t_env, "customers")


def scalar(t_env):
    return table(t_env, "orders").select(_plus(col("id"), col("amount")))


def scalar_of_nulls(t_env):
    return _customers(t_env).select(_plus(col("age"), lit(1)), _shout(col("city")))


def scalar_of_constants(t_env):
    return _customers(t_env).select(col("name"), _plus(1, 2), _shout("hi"))


def scalar_class(t_env):
    times = udf(_Times(10), result_type=DataTypes.BIGINT())
    return table(t_env, "orders").select(times(col("amount")))


def scalar_lambda(t_env):
    first = udf(lambda text: text[:1], result_type=DataTypes.STRING())
    return table(t_env, "orders").select(first(col("product"))).distinct()


def scalar_in_where(t_env):
    return table(t_env, "orders").where(_plus(col("id"), col("amount")) > 40).select(col("id"))


def scalar_of_scalar(t_env):
    return table(t_env, "orders").select(
        _plus(_plus(col("id"), 1), _plus(col("amount"), col("id")))
    )


def scalar_in_a_group(t_env):
    keyed = table(t_env, "orders").group_by(_shout(col("product")).alias("p"))
    return keyed.select(col("p"), col("amount").sum)


def scalar_of_an_aggregate(t_env):
    keyed = table(t_env, "orders").group_by(col("product"))
    return keyed.select(col("product"), _plus(col("amount").sum, col("id").max))


def scalar_by_name(t_env):
    t_env.create_temporary_function("my_sum", _plus)
    return table(t_env, "orders").select(call("my_sum", col("id"), 1))


def scalar_in_sql(t_env):
    t_env.create_temporary_system_function("shout", _shout)
    table(t_env, "orders")
    return t_env.sql_query("SELECT DISTINCT shout(product) FROM orders")


def scalar_in_a_join(t_env):
    orders = table(t_env, "orders").where(col("amount") > 7)
    joined = orders.join(_customers(t_env), col("customer") == col("name"))
    return joined.select(_plus(col("id"), col("age")))


def scalar_in_a_window(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    grouped = windowed.group_by(col("w"), col("item"))
    return grouped.select(col("item"), col("w").start, _plus(col("price").sum, 1))


def scalar_dropped(t_env):
    t_env.create_temporary_function("my_sum", _plus)
    t_env.drop_temporary_function("my_sum")
    return table(t_env, "orders").select(call("my_sum", col("id"), 1))


def scalar_of_types(t_env):
    kinds = udf(
        lambda *values: [type(value).__name__ for value in values],
        result_type=DataTypes.ARRAY(DataTypes.STRING()),
    )
    return (
        table(t_env, "orders")
        .where(col("id") == 2)
        .select(
            kinds(
                col("id"),
                col("customer"),
                col("price"),
                lit(1.5),
                lit(True),
                lit("2024-01-01").to_date,
            )
        )
    )


def scalar_gives_a_map(t_env):
    counted = udf(
        lambda text: {text: len(text)},
        result_type=DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
    )
    return table(t_env, "orders").where(col("id") < 5).select(counted(col("product")))


def scalar_that_fails(t_env):
    fails = udf(lambda number: 1 // (number - 3), result_type=DataTypes.BIGINT())
    return table(t_env, "orders").select(fails(col("id")))


def pandas(t_env):
    return table(t_env, "orders").select(_plus_of_series(col("id"), col("amount")))


def pandas_in_where(t_env):
    return (
        table(t_env, "orders")
        .where(_plus_of_series(col("id"), col("amount")) > 40)
        .select(col("id"))
    )


def pandas_beside_general(t_env):
    return table(t_env, "orders").select(_plus_of_series(col("id"), 1), _plus(col("id"), 2))


@in_batch
def pandas_in_batch(t_env):
    return table(t_env, "orders").select(_plus_of_series(col("id"), col("amount")))


def map_rows(t_env):
    return table(t_env, "orders").map(_doubled).alias("who", "twice").where(col("twice") > 12)


def map_frames(t_env):
    return table(t_env, "orders").map(_halved)


def table_function(t_env):
    return (
        _customers(t_env)
        .join_lateral(_letters(col("name")).alias("letter", "at"))
        .select(col("name"), col("letter"), col("at"))
    )


def table_function_left(t_env):
    cities = _customers(t_env).select(col("name"), col("city"))
    return cities.left_outer_join_lateral(_letters(col("city")).alias("letter", "at"))


def table_function_class(t_env):
    repeat = udtf(_Repeat(), result_types=[DataTypes.STRING(), DataTypes.INT()])
    orders = table(t_env, "orders").where(col("id") < 6)
    return orders.join_lateral(repeat(col("product"), col("amount")).alias("what", "n")).select(
        col("id"), col("what"), col("n")
    )


def table_function_in_sql(t_env):
    t_env.create_temporary_function("letters", _letters)
    _customers(t_env)
    return t_env.sql_query(
        "SELECT name, letter FROM customers, LATERAL TABLE(letters(name)) AS t(letter, n)"
        " WHERE n = 1"
    )


def table_function_left_in_sql(t_env):
    t_env.create_temporary_function("letters", _letters)
    _customers(t_env)
    return t_env.sql_query(
        "SELECT name, letter FROM customers"
        " LEFT JOIN LATERAL TABLE(letters(city)) AS t(letter, n) ON TRUE"
    )


def table_function_then_grouped(t_env):
    letters = table(t_env, "orders").join_lateral(_letters(col("product")).alias("letter", "at"))
    return letters.group_by(col("letter")).select(col("letter"), col("id").count)


def flat_map(t_env):
    return table(t_env, "orders").flat_map(_split_order).alias("id", "what")
