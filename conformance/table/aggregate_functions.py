"""Flink's pages on aggregate functions in Python: `udaf` and `udtaf`, by row and with pandas."""

from conformance.table_data import table
from conformance.table_program import differs, in_batch, no_twin, twin
from pyflink.common import Row
from pyflink.table import DataTypes, ListView, MapView
from pyflink.table.expressions import CURRENT_ROW, col, lit, row_interval
from pyflink.table.udf import AggregateFunction, TableAggregateFunction, udaf, udtaf
from pyflink.table.window import Over, Session, Slide, Tumble


class _WeightedAverage(AggregateFunction):
    def create_accumulator(self):
        return Row(0, 0)

    def get_value(self, accumulator):
        if accumulator[1] == 0:
            return None
        return accumulator[0] / accumulator[1]

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator, value, weight):
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def merge(self, accumulator, accumulators):
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_result_type(self):
        return DataTypes.DOUBLE()

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("f0", DataTypes.BIGINT()), DataTypes.FIELD("f1", DataTypes.BIGINT())]
        )


class _Limits(AggregateFunction):
    def create_accumulator(self):
        return [0, 0]

    def get_value(self, accumulator):
        return Row(accumulator[0], accumulator[1])

    def accumulate(self, accumulator, value):
        accumulator[0] = max(accumulator[0], value)
        accumulator[1] += 1

    def get_result_type(self):
        return "ROW<top INT, n BIGINT>"

    def get_accumulator_type(self):
        return "ARRAY<BIGINT>"


class _Joined(AggregateFunction):
    """With a list view."""

    def create_accumulator(self):
        return Row(ListView(), "")

    def get_value(self, accumulator):
        return ",".join(sorted(accumulator[0]))

    def accumulate(self, accumulator, text):
        accumulator[0].add(text)

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.LIST_VIEW(DataTypes.STRING())),
                DataTypes.FIELD("f1", DataTypes.STRING()),
            ]
        )

    def get_result_type(self):
        return DataTypes.STRING()


class _Counted(AggregateFunction):
    """With a map view."""

    def create_accumulator(self):
        return Row(MapView(), 0)

    def get_value(self, accumulator):
        return accumulator[1]

    def accumulate(self, accumulator, text):
        views = accumulator[0]
        if not views.contains(text):
            accumulator[1] += 1
            views.put(text, 1)
        else:
            views.put(text, views.get(text) + 1)

    def retract(self, accumulator, text):
        views = accumulator[0]
        left = views.get(text) - 1
        if left:
            views.put(text, left)
        else:
            views.remove(text)
            accumulator[1] -= 1

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())),
                DataTypes.FIELD("f1", DataTypes.BIGINT()),
            ]
        )

    def get_result_type(self):
        return DataTypes.BIGINT()


class _Top2(TableAggregateFunction):
    def emit_value(self, accumulator):
        for value in accumulator:
            if value is not None:
                yield Row(value)

    def create_accumulator(self):
        return [None, None]

    def accumulate(self, accumulator, value):
        if accumulator[0] is None or value > accumulator[0]:
            accumulator[0], accumulator[1] = value, accumulator[0]
        elif accumulator[1] is None or value > accumulator[1]:
            accumulator[1] = value

    def get_accumulator_type(self):
        return "ARRAY<BIGINT>"

    def get_result_type(self):
        return "ROW<a BIGINT>"


_average = udaf(_WeightedAverage())
_limits = udaf(_Limits())
_joined = udaf(_Joined())
_counted = udaf(_Counted())
_top2 = udtaf(_Top2())


@udaf(result_type="DOUBLE", func_type="pandas")
def _mean(values):
    return values.mean()


def _orders(t_env):
    return table(t_env, "orders")


@twin("SELECT product, average(amount, id) FROM orders GROUP BY product", average=_average)
def grouped(t_env):
    made = _orders(t_env).group_by(col("product"))
    return made.select(col("product"), _average(col("amount"), col("id")))


@twin("SELECT average(amount, 1) AS a FROM orders", average=_average)
def of_all_rows(t_env):
    return _orders(t_env).select(_average(col("amount"), lit(1)).alias("a"))


@twin(
    "SELECT product, average(amount, 1), SUM(amount), MAX(id) FROM orders GROUP BY product",
    average=_average,
)
def beside_built_in_ones(t_env):
    made = _orders(t_env).group_by(col("product"))
    return made.select(col("product"), _average(col("amount"), 1), col("amount").sum, col("id").max)


@no_twin("it is SQL")
def in_sql(t_env):
    t_env.create_temporary_function("average", _average)
    _orders(t_env)
    return t_env.sql_query("SELECT customer, average(amount, id) FROM orders GROUP BY customer")


@no_twin("it is SQL")
def having(t_env):
    t_env.create_temporary_system_function("average", _average)
    _orders(t_env)
    return t_env.sql_query(
        "SELECT product FROM orders GROUP BY product HAVING average(amount, 1) > 4.5"
    )


@no_twin("it is SQL")
def of_distinct_values(t_env):
    t_env.create_temporary_function("average", _average)
    _orders(t_env)
    return t_env.sql_query(
        "SELECT product, average(DISTINCT amount, 1) FROM orders GROUP BY product"
    )


@no_twin("it is SQL")
def some_rows(t_env):
    t_env.create_temporary_function("average", _average)
    _orders(t_env)
    return t_env.sql_query(
        "SELECT product, average(amount, 1) FILTER (WHERE id > 20) FROM orders GROUP BY product"
    )


@twin(
    "SELECT average(n, 1) FROM (SELECT customer, COUNT(id) AS n FROM orders GROUP BY customer)",
    average=_average,
)
def of_an_aggregate(t_env):
    counts = (
        _orders(t_env).group_by(col("customer")).select(col("customer"), col("id").count.alias("n"))
    )
    return counts.select(_average(col("n"), 1))


@twin(
    "SELECT product, joined(customer) FROM orders WHERE id < 12 GROUP BY product",
    joined=_joined,
)
def list_view(t_env):
    made = _orders(t_env).where(col("id") < 12).group_by(col("product"))
    return made.select(col("product"), _joined(col("customer")))


@twin("SELECT product, counted(customer) FROM orders GROUP BY product", counted=_counted)
def map_view(t_env):
    made = _orders(t_env).group_by(col("product"))
    return made.select(col("product"), _counted(col("customer")))


@twin(
    "SELECT counted(p) FROM (SELECT MAX(product) AS p FROM orders GROUP BY amount)",
    counted=_counted,
)
def map_view_with_retractions(t_env):
    newest = _orders(t_env).group_by(col("amount")).select(col("product").max.alias("p"))
    return newest.select(_counted(col("p")))


@twin("SELECT k, average(v, 1) FROM elements GROUP BY k", average=_average)
def of_a_few_rows(t_env):
    made = t_env.from_elements([("a", 1), ("b", 2), ("a", 4)], ["k", "v"])
    return made.group_by(col("k")).select(col("k"), _average(col("v"), 1))


@twin(
    "SELECT product, r.top AS t, r.n + 1 FROM (SELECT product, limits(amount) AS r FROM "
    "orders GROUP BY product) AS t",
    limits=_limits,
)
def aggregate(t_env):
    made = _orders(t_env).group_by(col("product")).aggregate(_limits(col("amount")).alias("t", "n"))
    return made.select(col("product"), col("t"), col("n") + 1)


@twin(
    "SELECT product, t.r.top, t.r.n FROM (SELECT product, limits(amount) AS r FROM orders "
    "GROUP BY product) AS t",
    limits=_limits,
)
def aggregate_with_names_of_the_type(t_env):
    made = _orders(t_env).group_by(col("product")).aggregate(_limits(col("amount")))
    return made.select(col("*"))


@twin(
    "SELECT t.r.top AS t, t.r.n AS n FROM (SELECT limits(amount) AS r FROM orders) AS t",
    limits=_limits,
)
def aggregate_of_all_rows(t_env):
    return (
        _orders(t_env).aggregate(_limits(col("amount")).alias("t", "n")).select(col("t"), col("n"))
    )


@no_twin("SQL has no table aggregate functions")
def flat_aggregate(t_env):
    made = _orders(t_env).group_by(col("product")).flat_aggregate(_top2(col("id")).alias("top"))
    return made.select(col("product"), col("top"))


@no_twin("SQL has no table aggregate functions")
def flat_aggregate_of_all_rows(t_env):
    return _orders(t_env).flat_aggregate(_top2(col("id"))).select(col("a"))


@no_twin("SQL has no table aggregate functions")
def flat_aggregate_everything(t_env):
    made = _orders(t_env).group_by(col("customer")).flat_aggregate(_top2(col("id")).alias("x"))
    return made.select(col("*"))


@twin(
    "SELECT item, TUMBLE_START(ts, INTERVAL '1' MINUTE), average(price, 1) FROM bids GROUP "
    "BY TUMBLE(ts, INTERVAL '1' MINUTE), item",
    average=_average,
)
def tumble(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    made = windowed.group_by(col("w"), col("item"))
    return made.select(col("item"), col("w").start, _average(col("price"), 1))


@twin(
    "SELECT item, HOP_START(ts, INTERVAL '30' SECOND, INTERVAL '1' MINUTE), average(price, "
    "1) FROM bids GROUP BY HOP(ts, INTERVAL '30' SECOND, INTERVAL '1' MINUTE), item",
    average=_average,
)
def slide(t_env):
    windowed = table(t_env, "bids").window(
        Slide.over(lit(1).minutes).every(lit(30).seconds).on(col("ts")).alias("w")
    )
    made = windowed.group_by(col("w"), col("item"))
    return made.select(col("item"), col("w").start, _average(col("price"), 1))


@twin(
    "SELECT bidder, SESSION_START(ts, INTERVAL '20' SECOND), average(price, 1) FROM bids "
    "GROUP BY SESSION(ts, INTERVAL '20' SECOND), bidder",
    average=_average,
)
def session(t_env):
    windowed = table(t_env, "bids").window(
        Session.with_gap(lit(20).seconds).on(col("ts")).alias("w")
    )
    made = windowed.group_by(col("w"), col("bidder"))
    return made.select(col("bidder"), col("w").start, _average(col("price"), 1))


@twin(
    "SELECT item, e AS EXPR$0, t.r.top AS t, t.r.n AS n FROM (SELECT item, TUMBLE_END(ts, "
    "INTERVAL '1' MINUTE) AS e, limits(price) AS r FROM bids GROUP BY TUMBLE(ts, INTERVAL "
    "'1' MINUTE), item) AS t",
    limits=_limits,
)
def window_aggregate(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    made = windowed.group_by(col("w"), col("item")).aggregate(_limits(col("price")).alias("t", "n"))
    return made.select(col("item"), col("w").end, col("t"), col("n"))


@twin("SELECT product, mean(amount) FROM orders GROUP BY product", mean=_mean)
@in_batch
def pandas_in_batch(t_env):
    return _orders(t_env).group_by(col("product")).select(col("product"), _mean(col("amount")))


@twin(
    "SELECT item, TUMBLE_START(ts, INTERVAL '1' MINUTE), mean(price) FROM bids GROUP BY "
    "TUMBLE(ts, INTERVAL '1' MINUTE), item",
    mean=_mean,
)
@in_batch
def pandas_in_windows_of_a_batch(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    made = windowed.group_by(col("w"), col("item"))
    return made.select(col("item"), col("w").start, _mean(col("price")))


@twin(
    "SELECT item, TUMBLE_START(ts, INTERVAL '1' MINUTE), mean(price) FROM bids GROUP BY "
    "TUMBLE(ts, INTERVAL '1' MINUTE), item",
    mean=_mean,
)
def pandas_in_windows(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    made = windowed.group_by(col("w"), col("item"))
    return made.select(col("item"), col("w").start, _mean(col("price")))


@twin(
    "SELECT id, mean(price) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN 2 PRECEDING AND "
    "CURRENT ROW) FROM bids",
    mean=_mean,
)
def pandas_over_rows(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item"))
        .order_by(col("ts"))
        .preceding(row_interval(2))
        .following(CURRENT_ROW)
        .alias("w")
    )
    return windowed.select(col("id"), _mean(col("price")).over(col("w")))


@twin("SELECT product, mean(amount) FROM orders GROUP BY product", mean=_mean)
@differs("pandas functions also aggregate groups of streams")
def pandas_in_a_stream(t_env):
    return _orders(t_env).group_by(col("product")).select(col("product"), _mean(col("amount")))


@twin(
    "SELECT t.r.top AS t FROM (SELECT limits(n) AS r FROM (SELECT MAX(amount) AS n FROM "
    "orders GROUP BY customer)) AS t",
    limits=_limits,
)
def without_retract(t_env):
    counts = _orders(t_env).group_by(col("customer")).select(col("amount").max.alias("n"))
    return counts.aggregate(_limits(col("n")).alias("t", "n")).select(col("t"))
