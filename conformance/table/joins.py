"""Flink's page "Table API": joins, set operations, order, offset and fetch."""

from conformance.table_data import table
from conformance.table_program import differs, in_batch
from pyflink.table.expressions import call, col, lit


def _sides(t_env):
    orders = (
        table(t_env, "orders")
        .where(col("amount") > 5)
        .select(col("id"), col("customer"), col("amount"))
    )
    return orders, table(t_env, "customers")


def inner(t_env):
    orders, customers = _sides(t_env)
    joined = orders.join(customers).where(col("customer") == col("name"))
    return joined.select(col("id"), col("city"))


def inner_with_condition(t_env):
    orders, customers = _sides(t_env)
    joined = orders.join(
        customers, (col("customer") == col("name")) & (col("age") > col("amount") * 5)
    )
    return joined.select(col("id"), col("name"), col("age"))


def left_outer(t_env):
    orders, customers = _sides(t_env)
    return orders.left_outer_join(customers, col("customer") == col("name"))


def right_outer(t_env):
    orders, customers = _sides(t_env)
    return orders.right_outer_join(customers, col("customer") == col("name")).select(
        col("id"), col("name")
    )


def full_outer(t_env):
    orders, customers = _sides(t_env)
    return orders.full_outer_join(customers, col("customer") == col("name")).select(
        col("id"), col("name"), col("city")
    )


def left_outer_without_condition(t_env):
    orders, customers = _sides(t_env)
    return orders.left_outer_join(customers)


def same_names(t_env):
    orders, _ = _sides(t_env)
    return orders.join(orders, col("id") == col("id"))


def self_join(t_env):
    orders, _ = _sides(t_env)
    others = orders.alias("id2", "customer2", "amount2")
    pairs = orders.join(others, (col("customer") == col("customer2")) & (col("id") < col("id2")))
    return pairs.select(col("id"), col("id2"))


def of_an_aggregate(t_env):
    orders, customers = _sides(t_env)
    totals = orders.group_by(col("customer")).select(
        col("customer"), col("amount").sum.alias("total")
    )
    return totals.join(customers, col("customer") == col("name")).select(col("city"), col("total"))


def interval(t_env):
    bids, shipments = table(t_env, "bids"), table(t_env, "shipments")
    shipped = shipments.select(col("bid"), col("carrier"), col("ts").alias("at"))
    in_time = (
        (col("id") == col("bid"))
        & (col("at") >= col("ts") - lit(1).minutes)
        & (col("at") <= col("ts") + lit(10).minutes)
    )
    return bids.join(shipped).where(in_time).select(col("id"), col("carrier"))


@differs("UNNEST is a table function of the Table API, too")
def lateral_unnest(t_env):
    people = table(t_env, "people")
    return people.join_lateral(call("UNNEST", col("tags")).alias("tag")).select(
        col("id"), col("tag")
    )


@differs("UNNEST is a table function of the Table API, too")
def left_lateral_unnest(t_env):
    people = table(t_env, "people")
    return people.left_outer_join_lateral(call("UNNEST", col("tags")).alias("tag")).select(
        col("id"), col("tag")
    )


def in_values(t_env):
    return table(t_env, "orders").where(col("customer").in_("ada", "dan")).select(col("id"))


def in_table(t_env):
    orders, customers = _sides(t_env)
    return orders.where(col("customer").in_(customers.select(col("name"))))


def in_table_of_two_columns(t_env):
    orders, customers = _sides(t_env)
    return orders.where(col("customer").in_(customers.select(col("name"), col("city"))))


def _products(t_env):
    orders = table(t_env, "orders")
    many = orders.where(col("amount") > 6).select(col("product"))
    few = orders.where(col("amount") < 2).select(col("product"))
    return many, few


def union_all(t_env):
    many, few = _products(t_env)
    return many.union_all(few)


@in_batch
def union(t_env):
    many, few = _products(t_env)
    return many.union(few)


@differs("set operations other than UNION ALL work in streams, as in SQL")
def union_in_a_stream(t_env):
    many, few = _products(t_env)
    return many.union(few)


@in_batch
def intersect(t_env):
    many, few = _products(t_env)
    return many.intersect(few)


@in_batch
def intersect_all(t_env):
    many, few = _products(t_env)
    return many.intersect_all(few)


@in_batch
def minus(t_env):
    many, few = _products(t_env)
    return many.minus(few)


@in_batch
def minus_all(t_env):
    many, few = _products(t_env)
    return many.minus_all(few)


@differs("set operations other than UNION ALL work in streams, as in SQL")
def intersect_in_a_stream(t_env):
    many, few = _products(t_env)
    return many.intersect(few)


@differs("set operations other than UNION ALL work in streams, as in SQL")
def minus_all_in_a_stream(t_env):
    many, few = _products(t_env)
    return many.minus_all(few)


def union_of_other_columns(t_env):
    orders = table(t_env, "orders")
    return orders.select(col("id")).union_all(orders.select(col("product")))


def union_of_other_counts(t_env):
    orders = table(t_env, "orders")
    return orders.select(col("id")).union_all(orders.select(col("id"), col("product")))


@in_batch
def order_by(t_env):
    ordered = table(t_env, "orders").order_by(col("amount").desc, col("id").asc)
    return ordered.fetch(7).select(col("id"), col("amount"))


@in_batch
def order_offset_fetch(t_env):
    return table(t_env, "orders").order_by(col("id")).offset(5).fetch(4)


@in_batch
def order_limit(t_env):
    return table(t_env, "orders").order_by(col("price").desc).limit(3, 2)


@differs("OFFSET needs no FETCH")
@in_batch
def offset_only(t_env):
    return table(t_env, "orders").order_by(col("id")).offset(37).select(col("id"))


def fetch_in_a_stream(t_env):
    return table(t_env, "orders").order_by(col("amount").desc, col("id").asc).fetch(3)


@in_batch
def order_of_nulls(t_env):
    return table(t_env, "customers").order_by(col("age").asc, col("name")).fetch(2)


def order_without_fetch_in_a_stream(t_env):
    return table(t_env, "orders").order_by(col("amount").desc)
