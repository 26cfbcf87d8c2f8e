"""Flink's page "Table API": group windows, OVER windows, deduplication by time."""

from conformance.table_data import table
from conformance.table_program import differs, in_batch, no_twin, twin
from pyflink.table.expressions import (
    CURRENT_RANGE,
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    col,
    lit,
    row_interval,
)
from pyflink.table.window import Over, Session, Slide, Tumble


@twin(
    "SELECT TUMBLE_START(ts, INTERVAL '10' SECOND), TUMBLE_END(ts, INTERVAL '10' SECOND), "
    "COUNT(id), SUM(price) FROM bids GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)"
)
def tumble(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    return windowed.group_by(col("w")).select(
        col("w").start, col("w").end, col("id").count, col("price").sum
    )


@twin(
    "SELECT item, TUMBLE_START(ts, INTERVAL '1' MINUTE) AS `begin`, MAX(price), "
    "COUNT(DISTINCT bidder) FROM bids GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE), item"
)
def tumble_by_key(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    return windowed.group_by(col("w"), col("item")).select(
        col("item"), col("w").start.alias("begin"), col("price").max, col("bidder").count.distinct
    )


@twin(
    "SELECT TUMBLE_START(rt, INTERVAL '1' HOUR), MAX(total), COUNT(total) FROM (SELECT item, "
    "SUM(price) AS total, TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE) AS rt FROM bids GROUP BY "
    "TUMBLE(ts, INTERVAL '1' MINUTE), item) GROUP BY TUMBLE(rt, INTERVAL '1' HOUR)"
)
def tumble_by_rowtime(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    first = windowed.group_by(col("w"), col("item")).select(
        col("item"), col("price").sum.alias("total"), col("w").rowtime.alias("rt")
    )
    again = first.window(Tumble.over(lit(1).hours).on(col("rt")).alias("h"))
    return again.group_by(col("h")).select(col("h").start, col("total").max, col("total").count)


@twin(
    "SELECT bidder, TUMBLE_END(ts, INTERVAL '1' MINUTE), COUNT(id) FROM bids GROUP BY "
    "TUMBLE(ts, INTERVAL '1' MINUTE), bidder"
)
@in_batch
def tumble_in_batch(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    return windowed.group_by(col("w"), col("bidder")).select(
        col("bidder"), col("w").end, col("id").count
    )


@no_twin("a window that is not used is no mistake of SQL's: it has none")
def window_without_group(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    return windowed.group_by(col("item")).select(col("item"))


@twin("SELECT COUNT(id) FROM bids GROUP BY TUMBLE(price, INTERVAL '10' SECOND)")
def window_of_a_number(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(10).seconds).on(col("price")).alias("w"))
    return windowed.group_by(col("w")).select(col("id").count)


@twin(
    "SELECT bidder, HOP_START(ts, INTERVAL '20' SECOND, INTERVAL '1' MINUTE), AVG(price) "
    "FROM bids GROUP BY HOP(ts, INTERVAL '20' SECOND, INTERVAL '1' MINUTE), bidder"
)
def slide(t_env):
    windowed = table(t_env, "bids").window(
        Slide.over(lit(1).minutes).every(lit(20).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w"), col("bidder")).select(
        col("bidder"), col("w").start, col("price").avg
    )


@twin(
    "SELECT HOP_START(ts, INTERVAL '30' SECOND, INTERVAL '10' SECOND), COUNT(id) FROM bids "
    "GROUP BY HOP(ts, INTERVAL '30' SECOND, INTERVAL '10' SECOND)"
)
def slide_with_gaps(t_env):
    windowed = table(t_env, "bids").window(
        Slide.over(lit(10).seconds).every(lit(30).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w")).select(col("w").start, col("id").count)


@twin(
    "SELECT item, HOP_START(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR), MIN(price) FROM "
    "bids GROUP BY HOP(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR), item"
)
@differs("windows of a batch may be long and overlap")
@in_batch
def slide_in_batch(t_env):
    windowed = table(t_env, "bids").window(
        Slide.over(lit(1).hours).every(lit(30).minutes).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w"), col("item")).select(
        col("item"), col("w").start, col("price").min
    )


@twin(
    "SELECT bidder, SESSION_START(ts, INTERVAL '10' SECOND), SESSION_END(ts, INTERVAL '10' "
    "SECOND), SUM(price) FROM bids GROUP BY SESSION(ts, INTERVAL '10' SECOND), bidder"
)
def session(t_env):
    windowed = table(t_env, "bids").window(
        Session.with_gap(lit(10).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w"), col("bidder")).select(
        col("bidder"), col("w").start, col("w").end, col("price").sum
    )


@twin(
    "SELECT SESSION_START(ts, INTERVAL '15' SECOND), SESSION_END(ts, INTERVAL '15' SECOND), "
    "COUNT(id) FROM bids GROUP BY SESSION(ts, INTERVAL '15' SECOND)"
)
def session_without_key(t_env):
    windowed = table(t_env, "bids").window(
        Session.with_gap(lit(15).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w")).select(col("w").start, col("w").end, col("id").count)


@twin(
    "SELECT bidder, SESSION_START(ts, INTERVAL '10' SECOND), COUNT(id) FROM bids GROUP BY "
    "SESSION(ts, INTERVAL '10' SECOND), bidder"
)
@differs("sessions work in a batch, too")
@in_batch
def session_in_batch(t_env):
    windowed = table(t_env, "bids").window(
        Session.with_gap(lit(10).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w"), col("bidder")).select(
        col("bidder"), col("w").start, col("id").count
    )


@twin(
    "SELECT TUMBLE_START(ts, INTERVAL '1' MINUTE), SUM(twice) FROM (SELECT ts, price * 2 AS "
    "twice FROM bids WHERE price > 10) GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)"
)
def filter_before_a_window(t_env):
    some = (
        table(t_env, "bids")
        .where(col("price") > 10)
        .select(col("ts"), (col("price") * 2).alias("twice"))
    )
    windowed = some.window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    return windowed.group_by(col("w")).select(col("w").start, col("twice").sum)


@twin(
    "SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) + INTERVAL '30' MINUTE, SUM(price) + 1 AS "
    "more FROM bids GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)"
)
def property_in_an_expression(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).hours).on(col("ts")).alias("w"))
    return windowed.group_by(col("w")).select(
        col("w").start + lit(30).minutes, (col("price").sum + 1).alias("more")
    )


@twin(
    "SELECT item, TUMBLE_START(ts, INTERVAL '1' MINUTE) AS s, COUNT(id) AS n FROM bids GROUP "
    "BY TUMBLE(ts, INTERVAL '1' MINUTE), item HAVING COUNT(id) > 3"
)
def having_of_a_window(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    counts = windowed.group_by(col("w"), col("item")).select(
        col("item"), col("w").start.alias("s"), col("id").count.alias("n")
    )
    return counts.where(col("n") > 3)


@twin(
    "SELECT id, SUM(price) OVER w, MAX(price) OVER w FROM bids WINDOW w AS (PARTITION BY "
    "bidder ORDER BY ts)"
)
def over_unbounded_range(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("bidder")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
    )
    return windowed.select(
        col("id"), col("price").sum.over(col("w")), col("price").max.over(col("w"))
    )


@twin(
    "SELECT id, COUNT(id) OVER (PARTITION BY bidder ORDER BY ts ROWS UNBOUNDED PRECEDING) AS "
    "n FROM bids"
)
def over_unbounded_rows(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("bidder"))
        .order_by(col("ts"))
        .preceding(UNBOUNDED_ROW)
        .following(CURRENT_ROW)
        .alias("w")
    )
    return windowed.select(col("id"), col("id").count.over(col("w")).alias("n"))


@twin(
    "SELECT id, AVG(price) OVER w, MIN(price) OVER w FROM bids WINDOW w AS (PARTITION BY "
    "item ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"
)
def over_some_rows(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item"))
        .order_by(col("ts"))
        .preceding(row_interval(2))
        .following(CURRENT_ROW)
        .alias("w")
    )
    return windowed.select(
        col("id"), col("price").avg.over(col("w")), col("price").min.over(col("w"))
    )


@twin(
    "SELECT item, ts, SUM(price) OVER (PARTITION BY item ORDER BY ts RANGE BETWEEN INTERVAL "
    "'20' SECOND PRECEDING AND CURRENT ROW) FROM bids"
)
def over_some_time(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item"))
        .order_by(col("ts"))
        .preceding(lit(20).seconds)
        .following(CURRENT_RANGE)
        .alias("w")
    )
    return windowed.select(col("item"), col("ts"), col("price").sum.over(col("w")))


@twin(
    "SELECT id, COUNT(id) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND "
    "CURRENT ROW) FROM bids"
)
def over_without_partition(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.order_by(col("ts")).preceding(lit(5).seconds).alias("w")
    )
    return windowed.select(col("id"), col("id").count.over(col("w")))


@twin("SELECT id, SUM(amount) OVER (PARTITION BY product ORDER BY id) FROM orders")
@differs("OVER windows of the Table API may be ordered by any column and be several, as in SQL")
@in_batch
def over_in_batch(t_env):
    windowed = table(t_env, "orders").over_window(
        Over.partition_by(col("product")).order_by(col("id")).preceding(UNBOUNDED_RANGE).alias("w")
    )
    return windowed.select(col("id"), col("amount").sum.over(col("w")))


@twin(
    "SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY ts), SUM(price) OVER (PARTITION "
    "BY item ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM bids"
)
@differs("OVER windows of the Table API may be ordered by any column and be several, as in SQL")
def over_two_windows(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("a"),
        Over.partition_by(col("item")).order_by(col("ts")).preceding(row_interval(1)).alias("b"),
    )
    return windowed.select(
        col("id"), col("price").sum.over(col("a")), col("price").sum.over(col("b"))
    )


@twin("SELECT id, MAX(price) OVER (PARTITION BY item ORDER BY ts) - price AS below FROM bids")
def over_in_an_expression(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
    )
    return windowed.select(
        col("id"), (col("price").max.over(col("w")) - col("price")).alias("below")
    )


@twin("SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY price) FROM bids")
@differs("OVER windows of the Table API may be ordered by any column and be several, as in SQL")
def over_by_a_number(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item")).order_by(col("price")).preceding(UNBOUNDED_RANGE).alias("w")
    )
    return windowed.select(col("id"), col("price").sum.over(col("w")))
