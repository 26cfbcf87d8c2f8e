"""Flink's page "Table API": joins, set operations, order, offset and fetch."""

from conformance.table_data import table
from conformance.table_program import differs, in_batch, no_twin, twin
from pyflink.table.expressions import call, col, lit


def _sides(t_env):
    orders = (
        table(t_env, "orders")
        .where(col("amount") > 5)
        .select(col("id"), col("customer"), col("amount"))
    )
    return orders, table(t_env, "customers")


@twin(
    "SELECT id, city FROM (SELECT id, customer FROM orders WHERE amount > 5), customers "
    "WHERE customer = name"
)
def inner(t_env):
    orders, customers = _sides(t_env)
    joined = orders.join(customers).where(col("customer") == col("name"))
    return joined.select(col("id"), col("city"))


@twin(
    "SELECT id, name, age FROM (SELECT * FROM orders WHERE amount > 5) JOIN customers ON "
    "customer = name AND age > amount * 5"
)
def inner_with_condition(t_env):
    orders, customers = _sides(t_env)
    joined = orders.join(
        customers, (col("customer") == col("name")) & (col("age") > col("amount") * 5)
    )
    return joined.select(col("id"), col("name"), col("age"))


@twin(
    "SELECT * FROM (SELECT id, customer, amount FROM orders WHERE amount > 5) LEFT JOIN "
    "customers ON customer = name"
)
def left_outer(t_env):
    orders, customers = _sides(t_env)
    return orders.left_outer_join(customers, col("customer") == col("name"))


@twin(
    "SELECT id, name FROM (SELECT id, customer, amount FROM orders WHERE amount > 5) RIGHT "
    "JOIN customers ON customer = name"
)
def right_outer(t_env):
    orders, customers = _sides(t_env)
    return orders.right_outer_join(customers, col("customer") == col("name")).select(
        col("id"), col("name")
    )


@twin(
    "SELECT id, name, city FROM (SELECT id, customer, amount FROM orders WHERE amount > 5) "
    "FULL JOIN customers ON customer = name"
)
def full_outer(t_env):
    orders, customers = _sides(t_env)
    return orders.full_outer_join(customers, col("customer") == col("name")).select(
        col("id"), col("name"), col("city")
    )


@twin(
    "SELECT * FROM (SELECT id, customer, amount FROM orders WHERE amount > 5) LEFT JOIN "
    "customers ON TRUE"
)
def left_outer_without_condition(t_env):
    orders, customers = _sides(t_env)
    return orders.left_outer_join(customers)


@no_twin("SQL takes tables with columns of one name, and says which is meant by the table's name")
def same_names(t_env):
    orders, _ = _sides(t_env)
    return orders.join(orders, col("id") == col("id"))


@twin(
    "SELECT a.id, b.id AS id2 FROM (SELECT id, customer, amount FROM orders WHERE amount > "
    "5) AS a JOIN (SELECT id, customer, amount FROM orders WHERE amount > 5) AS b ON "
    "a.customer = b.customer AND a.id < b.id"
)
def self_join(t_env):
    orders, _ = _sides(t_env)
    others = orders.alias("id2", "customer2", "amount2")
    pairs = orders.join(others, (col("customer") == col("customer2")) & (col("id") < col("id2")))
    return pairs.select(col("id"), col("id2"))


@twin(
    "SELECT city, total FROM (SELECT customer, SUM(amount) AS total FROM orders WHERE amount "
    "> 5 GROUP BY customer) JOIN customers ON customer = name"
)
def of_an_aggregate(t_env):
    orders, customers = _sides(t_env)
    totals = orders.group_by(col("customer")).select(
        col("customer"), col("amount").sum.alias("total")
    )
    return totals.join(customers, col("customer") == col("name")).select(col("city"), col("total"))


@twin(
    "SELECT b.id, carrier FROM bids AS b, shipments AS s WHERE b.id = s.bid AND s.ts >= b.ts "
    "- INTERVAL '1' MINUTE AND s.ts <= b.ts + INTERVAL '10' MINUTE"
)
def interval(t_env):
    bids, shipments = table(t_env, "bids"), table(t_env, "shipments")
    shipped = shipments.select(col("bid"), col("carrier"), col("ts").alias("at"))
    in_time = (
        (col("id") == col("bid"))
        & (col("at") >= col("ts") - lit(1).minutes)
        & (col("at") <= col("ts") + lit(10).minutes)
    )
    return bids.join(shipped).where(in_time).select(col("id"), col("carrier"))


@twin("SELECT id, tag FROM people CROSS JOIN UNNEST(tags) AS t (tag)")
@differs("UNNEST is a table function of the Table API, too")
def lateral_unnest(t_env):
    people = table(t_env, "people")
    return people.join_lateral(call("UNNEST", col("tags")).alias("tag")).select(
        col("id"), col("tag")
    )


@twin("SELECT id, tag FROM people LEFT JOIN UNNEST(tags) AS t (tag) ON TRUE")
@differs("UNNEST is a table function of the Table API, too")
def left_lateral_unnest(t_env):
    people = table(t_env, "people")
    return people.left_outer_join_lateral(call("UNNEST", col("tags")).alias("tag")).select(
        col("id"), col("tag")
    )


@twin("SELECT id FROM orders WHERE customer IN ('ada', 'dan')")
def in_values(t_env):
    return table(t_env, "orders").where(col("customer").in_("ada", "dan")).select(col("id"))


@twin(
    "SELECT * FROM (SELECT id, customer, amount FROM orders WHERE amount > 5) WHERE customer "
    "IN (SELECT name FROM customers)"
)
def in_table(t_env):
    orders, customers = _sides(t_env)
    return orders.where(col("customer").in_(customers.select(col("name"))))


@twin("SELECT id FROM orders WHERE customer IN (SELECT name, city FROM customers)")
def in_table_of_two_columns(t_env):
    orders, customers = _sides(t_env)
    return orders.where(col("customer").in_(customers.select(col("name"), col("city"))))


def _products(t_env):
    orders = table(t_env, "orders")
    many = orders.where(col("amount") > 6).select(col("product"))
    few = orders.where(col("amount") < 2).select(col("product"))
    return many, few


@twin(
    "SELECT product FROM orders WHERE amount > 6 UNION ALL SELECT product FROM orders WHERE "
    "amount < 2"
)
def union_all(t_env):
    many, few = _products(t_env)
    return many.union_all(few)


@twin(
    "SELECT product FROM orders WHERE amount > 6 UNION SELECT product FROM orders WHERE amount < 2"
)
@in_batch
def union(t_env):
    many, few = _products(t_env)
    return many.union(few)


@twin(
    "SELECT product FROM orders WHERE amount > 6 UNION SELECT product FROM orders WHERE amount < 2"
)
@differs("set operations other than UNION ALL work in streams, as in SQL")
def union_in_a_stream(t_env):
    many, few = _products(t_env)
    return many.union(few)


@twin(
    "SELECT product FROM orders WHERE amount > 6 INTERSECT SELECT product FROM orders WHERE "
    "amount < 2"
)
@in_batch
def intersect(t_env):
    many, few = _products(t_env)
    return many.intersect(few)


@twin(
    "SELECT product FROM orders WHERE amount > 6 INTERSECT ALL SELECT product FROM orders "
    "WHERE amount < 2"
)
@in_batch
def intersect_all(t_env):
    many, few = _products(t_env)
    return many.intersect_all(few)


@twin(
    "SELECT product FROM orders WHERE amount > 6 EXCEPT SELECT product FROM orders WHERE amount < 2"
)
@in_batch
def minus(t_env):
    many, few = _products(t_env)
    return many.minus(few)


@twin(
    "SELECT product FROM orders WHERE amount > 6 EXCEPT ALL SELECT product FROM orders WHERE "
    "amount < 2"
)
@in_batch
def minus_all(t_env):
    many, few = _products(t_env)
    return many.minus_all(few)


@twin(
    "SELECT product FROM orders WHERE amount > 6 INTERSECT SELECT product FROM orders WHERE "
    "amount < 2"
)
@differs("set operations other than UNION ALL work in streams, as in SQL")
def intersect_in_a_stream(t_env):
    many, few = _products(t_env)
    return many.intersect(few)


@twin(
    "SELECT product FROM orders WHERE amount > 6 EXCEPT ALL SELECT product FROM orders WHERE "
    "amount < 2"
)
@differs("set operations other than UNION ALL work in streams, as in SQL")
def minus_all_in_a_stream(t_env):
    many, few = _products(t_env)
    return many.minus_all(few)


@twin("SELECT id FROM orders UNION ALL SELECT product FROM orders")
def union_of_other_columns(t_env):
    orders = table(t_env, "orders")
    return orders.select(col("id")).union_all(orders.select(col("product")))


@twin("SELECT id FROM orders UNION ALL SELECT id, product FROM orders")
def union_of_other_counts(t_env):
    orders = table(t_env, "orders")
    return orders.select(col("id")).union_all(orders.select(col("id"), col("product")))


@twin("SELECT id, amount FROM orders ORDER BY amount DESC NULLS FIRST, id NULLS LAST LIMIT 7")
@in_batch
def order_by(t_env):
    ordered = table(t_env, "orders").order_by(col("amount").desc, col("id").asc)
    return ordered.fetch(7).select(col("id"), col("amount"))


@twin("SELECT * FROM orders ORDER BY id NULLS LAST OFFSET 5 ROWS FETCH NEXT 4 ROWS ONLY")
@in_batch
def order_offset_fetch(t_env):
    return table(t_env, "orders").order_by(col("id")).offset(5).fetch(4)


@twin("SELECT * FROM orders ORDER BY price DESC NULLS FIRST LIMIT 3 OFFSET 2")
@in_batch
def order_limit(t_env):
    return table(t_env, "orders").order_by(col("price").desc).limit(3, 2)


@twin("SELECT id FROM orders ORDER BY id NULLS LAST OFFSET 37 ROWS")
@differs("OFFSET needs no FETCH")
@in_batch
def offset_only(t_env):
    return table(t_env, "orders").order_by(col("id")).offset(37).select(col("id"))


@twin("SELECT * FROM orders ORDER BY amount DESC NULLS FIRST, id NULLS LAST LIMIT 3")
def fetch_in_a_stream(t_env):
    return table(t_env, "orders").order_by(col("amount").desc, col("id").asc).fetch(3)


@twin("SELECT * FROM customers ORDER BY age NULLS LAST, name NULLS LAST LIMIT 2")
@in_batch
def order_of_nulls(t_env):
    return table(t_env, "customers").order_by(col("age").asc, col("name")).fetch(2)


@twin("SELECT * FROM orders ORDER BY amount DESC NULLS FIRST")
def order_without_fetch_in_a_stream(t_env):
    return table(t_env, "orders").order_by(col("amount").desc)
