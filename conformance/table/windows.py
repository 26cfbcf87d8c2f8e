"""Flink's page "Table API": group windows, OVER windows, deduplication by time."""

from conformance.table_data import table
from conformance.table_program import differs, in_batch
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


def tumble(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    return windowed.group_by(col("w")).select(
        col("w").start, col("w").end, col("id").count, col("price").sum
    )


def tumble_by_key(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    return windowed.group_by(col("w"), col("item")).select(
        col("item"), col("w").start.alias("begin"), col("price").max, col("bidder").count.distinct
    )


def tumble_by_rowtime(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    first = windowed.group_by(col("w"), col("item")).select(
        col("item"), col("price").sum.alias("total"), col("w").rowtime.alias("rt")
    )
    again = first.window(Tumble.over(lit(1).hours).on(col("rt")).alias("h"))
    return again.group_by(col("h")).select(col("h").start, col("total").max, col("total").count)


@in_batch
def tumble_in_batch(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    return windowed.group_by(col("w"), col("bidder")).select(
        col("bidder"), col("w").end, col("id").count
    )


def window_without_group(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    return windowed.group_by(col("item")).select(col("item"))


def window_of_a_number(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(10).seconds).on(col("price")).alias("w"))
    return windowed.group_by(col("w")).select(col("id").count)


def slide(t_env):
    windowed = table(t_env, "bids").window(
        Slide.over(lit(1).minutes).every(lit(20).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w"), col("bidder")).select(
        col("bidder"), col("w").start, col("price").avg
    )


def slide_with_gaps(t_env):
    windowed = table(t_env, "bids").window(
        Slide.over(lit(10).seconds).every(lit(30).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w")).select(col("w").start, col("id").count)


@differs("windows of a batch may be long and overlap")
@in_batch
def slide_in_batch(t_env):
    windowed = table(t_env, "bids").window(
        Slide.over(lit(1).hours).every(lit(30).minutes).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w"), col("item")).select(
        col("item"), col("w").start, col("price").min
    )


def session(t_env):
    windowed = table(t_env, "bids").window(
        Session.with_gap(lit(10).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w"), col("bidder")).select(
        col("bidder"), col("w").start, col("w").end, col("price").sum
    )


def session_without_key(t_env):
    windowed = table(t_env, "bids").window(
        Session.with_gap(lit(15).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w")).select(col("w").start, col("w").end, col("id").count)


@differs("sessions work in a batch, too")
@in_batch
def session_in_batch(t_env):
    windowed = table(t_env, "bids").window(
        Session.with_gap(lit(10).seconds).on(col("ts")).alias("w")
    )
    return windowed.group_by(col("w"), col("bidder")).select(
        col("bidder"), col("w").start, col("id").count
    )


def filter_before_a_window(t_env):
    some = (
        table(t_env, "bids")
        .where(col("price") > 10)
        .select(col("ts"), (col("price") * 2).alias("twice"))
    )
    windowed = some.window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    return windowed.group_by(col("w")).select(col("w").start, col("twice").sum)


def property_in_an_expression(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).hours).on(col("ts")).alias("w"))
    return windowed.group_by(col("w")).select(
        col("w").start + lit(30).minutes, (col("price").sum + 1).alias("more")
    )


def having_of_a_window(t_env):
    windowed = table(t_env, "bids").window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
    counts = windowed.group_by(col("w"), col("item")).select(
        col("item"), col("w").start.alias("s"), col("id").count.alias("n")
    )
    return counts.where(col("n") > 3)


def over_unbounded_range(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("bidder")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
    )
    return windowed.select(
        col("id"), col("price").sum.over(col("w")), col("price").max.over(col("w"))
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


def over_some_time(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item"))
        .order_by(col("ts"))
        .preceding(lit(20).seconds)
        .following(CURRENT_RANGE)
        .alias("w")
    )
    return windowed.select(col("item"), col("ts"), col("price").sum.over(col("w")))


def over_without_partition(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.order_by(col("ts")).preceding(lit(5).seconds).alias("w")
    )
    return windowed.select(col("id"), col("id").count.over(col("w")))


@differs("OVER windows of the Table API may be ordered by any column and be several, as in SQL")
@in_batch
def over_in_batch(t_env):
    windowed = table(t_env, "orders").over_window(
        Over.partition_by(col("product")).order_by(col("id")).preceding(UNBOUNDED_RANGE).alias("w")
    )
    return windowed.select(col("id"), col("amount").sum.over(col("w")))


@differs("OVER windows of the Table API may be ordered by any column and be several, as in SQL")
def over_two_windows(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("a"),
        Over.partition_by(col("item")).order_by(col("ts")).preceding(row_interval(1)).alias("b"),
    )
    return windowed.select(
        col("id"), col("price").sum.over(col("a")), col("price").sum.over(col("b"))
    )


def over_in_an_expression(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
    )
    return windowed.select(
        col("id"), (col("price").max.over(col("w")) - col("price")).alias("below")
    )


@differs("OVER windows of the Table API may be ordered by any column and be several, as in SQL")
def over_by_a_number(t_env):
    windowed = table(t_env, "bids").over_window(
        Over.partition_by(col("item")).order_by(col("price")).preceding(UNBOUNDED_RANGE).alias("w")
    )
    return windowed.select(col("id"), col("price").sum.over(col("w")))
