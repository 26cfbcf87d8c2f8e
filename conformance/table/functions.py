"""Flink's pages on functions in Python: scalar and table functions, row by row and with pandas."""

from conformance.table_data import table
from conformance.table_program import in_batch, no_twin, twin
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


_times10 = udf(_Times(10), result_type=DataTypes.BIGINT())
_first = udf(lambda text: text[:1], result_type=DataTypes.STRING())
_kinds = udf(
    lambda *values: [type(value).__name__ for value in values],
    result_type=DataTypes.ARRAY(DataTypes.STRING()),
)
_lengths = udf(
    lambda text: {text: len(text)},
    result_type=DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
)
_fails = udf(lambda number: 1 // (number - 3), result_type=DataTypes.BIGINT())


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


_repeat = udtf(_Repeat(), result_types=[DataTypes.STRING(), DataTypes.INT()])


@udtf(result_types=[DataTypes.BIGINT(), DataTypes.STRING()])
def _split_order(order):
    for number in range(order.amount):
        if number > 6:
            yield order.id, f"{order.product} {number}"


def _customers(t_env):
    return table(t_env, "customers")


@twin("SELECT plus(id, amount) FROM orders", plus=_plus)
def scalar(t_env):
    return table(t_env, "orders").select(_plus(col("id"), col("amount")))


@twin("SELECT plus(age, 1), shout(city) FROM customers", plus=_plus, shout=_shout)
def scalar_of_nulls(t_env):
    return _customers(t_env).select(_plus(col("age"), lit(1)), _shout(col("city")))


@twin("SELECT name, plus(1, 2), shout('hi') FROM customers", plus=_plus, shout=_shout)
def scalar_of_constants(t_env):
    return _customers(t_env).select(col("name"), _plus(1, 2), _shout("hi"))


@twin("SELECT times10(amount) FROM orders", times10=_times10)
def scalar_class(t_env):
    return table(t_env, "orders").select(_times10(col("amount")))


@twin("SELECT DISTINCT first_letter(product) FROM orders", first_letter=_first)
def scalar_lambda(t_env):
    return table(t_env, "orders").select(_first(col("product"))).distinct()


@twin("SELECT id FROM orders WHERE plus(id, amount) > 40", plus=_plus)
def scalar_in_where(t_env):
    return table(t_env, "orders").where(_plus(col("id"), col("amount")) > 40).select(col("id"))


@twin("SELECT plus(plus(id, 1), plus(amount, id)) FROM orders", plus=_plus)
def scalar_of_scalar(t_env):
    return table(t_env, "orders").select(
        _plus(_plus(col("id"), 1), _plus(col("amount"), col("id")))
    )


@twin("SELECT shout(product) AS p, SUM(amount) FROM orders GROUP BY shout(product)", shout=_shout)
def scalar_in_a_group(t_env):
    keyed = table(t_env, "orders").group_by(_shout(col("product")).alias("p"))
    return keyed.select(col("p"), col("amount").sum)


@twin("SELECT product, plus(SUM(amount), MAX(id)) FROM orders GROUP BY product", plus=_plus)
def scalar_of_an_aggregate(t_env):
    keyed = table(t_env, "orders").group_by(col("product"))
    return keyed.select(col("product"), _plus(col("amount").sum, col("id").max))


@twin("SELECT my_sum(id, 1) FROM orders")
def scalar_by_name(t_env):
    t_env.create_temporary_function("my_sum", _plus)
    return table(t_env, "orders").select(call("my_sum", col("id"), 1))


@no_twin("it is SQL")
def scalar_in_sql(t_env):
    t_env.create_temporary_system_function("shout", _shout)
    table(t_env, "orders")
    return t_env.sql_query("SELECT DISTINCT shout(product) FROM orders")


@twin(
    "SELECT plus(id, age) FROM orders JOIN customers ON customer = name WHERE amount > 7",
    plus=_plus,
)
def scalar_in_a_join(t_env):
    orders = table(t_env, "orders").where(col("amount") > 7)
    joined = orders.join(_customers(t_env), col("customer") == col("name"))
    return joined.select(_plus(col("id"), col("age")))


@twin(
    "SELECT item, TUMBLE_START(ts, INTERVAL '1' MINUTE), plus(SUM(price), 1) FROM bids GROUP "
    "BY TUMBLE(ts, INTERVAL '1' MINUTE), item",
    plus=_plus,
)
def scalar_in_a_window(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    grouped = windowed.group_by(col("w"), col("item"))
    return grouped.select(col("item"), col("w").start, _plus(col("price").sum, 1))


@twin("SELECT my_sum(id, 1) FROM orders")
def scalar_dropped(t_env):
    t_env.create_temporary_function("my_sum", _plus)
    t_env.drop_temporary_function("my_sum")
    return table(t_env, "orders").select(call("my_sum", col("id"), 1))


@twin(
    "SELECT kinds(id, customer, price, 1.5e0, TRUE, CAST('2024-01-01' AS DATE)) FROM orders "
    "WHERE id = 2",
    kinds=_kinds,
)
def scalar_of_types(t_env):
    return (
        table(t_env, "orders")
        .where(col("id") == 2)
        .select(
            _kinds(
                col("id"),
                col("customer"),
                col("price"),
                lit(1.5),
                lit(True),
                lit("2024-01-01").to_date,
            )
        )
    )


@twin("SELECT counted(product) FROM orders WHERE id < 5", counted=_lengths)
def scalar_gives_a_map(t_env):
    return table(t_env, "orders").where(col("id") < 5).select(_lengths(col("product")))


@twin("SELECT fails(id) FROM orders", fails=_fails)
def scalar_that_fails(t_env):
    return table(t_env, "orders").select(_fails(col("id")))


@twin("SELECT plus(id, amount) FROM orders", plus=_plus_of_series)
def pandas(t_env):
    return table(t_env, "orders").select(_plus_of_series(col("id"), col("amount")))


@twin("SELECT id FROM orders WHERE plus(id, amount) > 40", plus=_plus_of_series)
def pandas_in_where(t_env):
    return (
        table(t_env, "orders")
        .where(_plus_of_series(col("id"), col("amount")) > 40)
        .select(col("id"))
    )


@twin("SELECT series(id, 1), plus(id, 2) FROM orders", plus=_plus, series=_plus_of_series)
def pandas_beside_general(t_env):
    return table(t_env, "orders").select(_plus_of_series(col("id"), 1), _plus(col("id"), 2))


@twin("SELECT plus(id, amount) FROM orders", plus=_plus_of_series)
@in_batch
def pandas_in_batch(t_env):
    return table(t_env, "orders").select(_plus_of_series(col("id"), col("amount")))


@no_twin("SQL has no map(): a function gets columns, and no row with their names")
def map_rows(t_env):
    return table(t_env, "orders").map(_doubled).alias("who", "twice").where(col("twice") > 12)


@no_twin("SQL has no map(): a function gets columns, and no row with their names")
def map_frames(t_env):
    return table(t_env, "orders").map(_halved)


@twin(
    "SELECT name, letter, `at` FROM customers, LATERAL TABLE(letters(name)) AS t (letter, `at`)",
    letters=_letters,
)
def table_function(t_env):
    return (
        _customers(t_env)
        .join_lateral(_letters(col("name")).alias("letter", "at"))
        .select(col("name"), col("letter"), col("at"))
    )


@twin(
    "SELECT name, city, letter, `at` FROM (SELECT name, city FROM customers) AS c LEFT JOIN "
    "LATERAL TABLE(letters(city)) AS t (letter, `at`) ON TRUE",
    letters=_letters,
)
def table_function_left(t_env):
    cities = _customers(t_env).select(col("name"), col("city"))
    return cities.left_outer_join_lateral(_letters(col("city")).alias("letter", "at"))


@twin(
    "SELECT id, what, n FROM orders, LATERAL TABLE(repeated(product, amount)) AS t (what, n) "
    "WHERE id < 6",
    repeated=_repeat,
)
def table_function_class(t_env):
    orders = table(t_env, "orders").where(col("id") < 6)
    return orders.join_lateral(_repeat(col("product"), col("amount")).alias("what", "n")).select(
        col("id"), col("what"), col("n")
    )


@no_twin("it is SQL")
def table_function_in_sql(t_env):
    t_env.create_temporary_function("letters", _letters)
    _customers(t_env)
    return t_env.sql_query(
        "SELECT name, letter FROM customers, LATERAL TABLE(letters(name)) AS t(letter, n)"
        " WHERE n = 1"
    )


@no_twin("it is SQL")
def table_function_left_in_sql(t_env):
    t_env.create_temporary_function("letters", _letters)
    _customers(t_env)
    return t_env.sql_query(
        "SELECT name, letter FROM customers"
        " LEFT JOIN LATERAL TABLE(letters(city)) AS t(letter, n) ON TRUE"
    )


@twin(
    "SELECT letter, COUNT(id) FROM orders, LATERAL TABLE(letters(product)) AS t (letter, n) "
    "GROUP BY letter",
    letters=_letters,
)
def table_function_then_grouped(t_env):
    letters = table(t_env, "orders").join_lateral(_letters(col("product")).alias("letter", "at"))
    return letters.group_by(col("letter")).select(col("letter"), col("id").count)


@no_twin("SQL has no flat_map(): a function gets columns, and no row with their names")
def flat_map(t_env):
    return table(t_env, "orders").flat_map(_split_order).alias("id", "what")
