"""Flink's page "Table API": scans, projections, filters, aggregations, columns."""

from conformance.table_data import table
from conformance.table_program import differs, in_batch
from pyflink.table import DataTypes
from pyflink.table.expressions import (
    and_,
    call,
    call_sql,
    coalesce,
    col,
    if_then_else,
    lit,
    not_,
    null_of,
    or_,
    range_,
    row,
    with_all_columns,
    with_columns,
    without_columns,
)


def select(t_env):
    orders = table(t_env, "orders")
    return orders.select(orders.id, orders.price * 2, orders.product.alias("what"))


def select_everything(t_env):
    return table(t_env, "orders").select(col("*"))


def select_strings_of_constants(t_env):
    return table(t_env, "customers").select(
        lit("x"), lit(1), lit(2.5), lit(True), lit(None, DataTypes.INT())
    )


def where(t_env):
    orders = table(t_env, "orders")
    return orders.where(orders.amount > 5).select(orders.id)


def filter_of_two_conditions(t_env):
    orders = table(t_env, "orders")
    return orders.filter(
        (col("amount") > 5) & (col("customer") == "eve") | (col("id") == 1)
    ).select(col("id"))


def filter_not(t_env):
    return table(t_env, "orders").filter(~(col("amount") > 2)).select(col("id"))


def filter_and_or_not(t_env):
    condition = or_(and_(col("amount") > 6, col("product") == "pear"), not_(col("amount") >= 2))
    return table(t_env, "orders").filter(condition).select(col("id"))


def group_by(t_env):
    orders = table(t_env, "orders")
    return orders.group_by(orders.customer).select(
        orders.customer, orders.amount.sum.alias("total")
    )


def group_by_two(t_env):
    return (
        table(t_env, "orders")
        .group_by(col("customer"), col("product"))
        .select(col("product"), col("customer"), col("amount").max, col("price").min, lit(1).count)
    )


def group_by_expression(t_env):
    return (
        table(t_env, "orders")
        .group_by((col("amount") / 3).alias("third"))
        .select(col("third"), col("id").count.alias("n"))
    )


def group_without_key(t_env):
    return table(t_env, "orders").group_by(col("customer")).select(col("amount").avg)


def aggregate_all(t_env):
    return table(t_env, "orders").select(
        col("amount").sum, col("amount").avg, col("price").max, col("id").count
    )


def aggregate_of_nothing(t_env):
    return (
        table(t_env, "orders").filter(col("id") > 1000).select(col("amount").sum0, col("id").count)
    )


def aggregate_distinct(t_env):
    return (
        table(t_env, "orders")
        .group_by(col("customer"))
        .select(
            col("customer"), col("product").count.distinct, col("amount").sum.distinct.alias("s")
        )
    )


def aggregate_in_expression(t_env):
    return (
        table(t_env, "orders")
        .group_by(col("product"))
        .select(col("product"), (col("amount").max - col("amount").min).alias("spread"))
    )


def having(t_env):
    totals = (
        table(t_env, "orders")
        .group_by(col("customer"))
        .select(col("customer"), col("amount").sum.alias("total"))
    )
    return totals.where(col("total") > 25)


def statistics(t_env):
    amounts = table(t_env, "orders").filter(col("customer") == "bob")
    return amounts.select(
        col("amount").stddev_pop,
        col("amount").var_pop,
        col("amount").stddev_samp,
        col("amount").var_samp,
    )


def collect(t_env):
    return (
        table(t_env, "orders")
        .filter(col("id") < 9)
        .group_by(col("customer"))
        .select(col("customer"), col("product").collect)
    )


def list_agg(t_env):
    return (
        table(t_env, "orders")
        .filter(col("product") == "plum")
        .group_by(col("product"))
        .select(col("product"), col("customer").list_agg("|"))
    )


def two_levels(t_env):
    counts = (
        table(t_env, "orders")
        .group_by(col("customer"))
        .select(col("customer"), col("id").count.alias("n"))
    )
    return counts.group_by(col("n")).select(col("n"), col("customer").count)


def distinct(t_env):
    return table(t_env, "orders").select(col("product")).distinct()


def distinct_of_two(t_env):
    return table(t_env, "orders").select(col("customer"), col("amount") > 4).distinct()


def alias(t_env):
    return table(t_env, "customers").alias("a", "b", "c").select(col("b"), col("a"))


def alias_of_some(t_env):
    return table(t_env, "customers").alias("a").select(col("a"), col("city"))


def add_columns(t_env):
    return table(t_env, "customers").add_columns(
        col("name").upper_case, (col("age") + 1).alias("older")
    )


def add_column_that_is_there(t_env):
    return table(t_env, "customers").add_columns(col("city").upper_case.alias("name"))


def add_or_replace_columns(t_env):
    return table(t_env, "customers").add_or_replace_columns(
        col("city").upper_case.alias("name"), lit(1).alias("one")
    )


def rename_columns(t_env):
    return (
        table(t_env, "customers")
        .rename_columns(col("name").alias("who"))
        .select(col("who"), col("city"))
    )


def drop_columns(t_env):
    return table(t_env, "customers").drop_columns(col("city"), col("age"))


def drop_column_that_is_missing(t_env):
    return table(t_env, "customers").drop_columns(col("nothing"))


def with_range_of_names(t_env):
    return table(t_env, "orders").select(with_columns(range_("customer", "amount")))


def with_range_of_numbers(t_env):
    return table(t_env, "orders").select(with_columns(range_(2, 3)), with_columns(col("id")))


def without_some(t_env):
    return table(t_env, "orders").select(without_columns(col("id"), col("price")))


def all_columns(t_env):
    return table(t_env, "customers").select(with_all_columns(), lit("end"))


def flatten(t_env):
    return table(t_env, "people").select(col("id"), col("home").flatten)


def field_of_a_row(t_env):
    return table(t_env, "people").select(col("home").get("street"), col("home").get("zip"))


def element_of_an_array(t_env):
    return table(t_env, "people").select(
        col("tags").at(1), col("tags").cardinality, col("scores").at("x")
    )


def case_of_two(t_env):
    return table(t_env, "customers").select(
        col("name"), if_then_else(col("age") > 30, "old", "young")
    )


def then(t_env):
    return table(t_env, "customers").select(
        (col("age") > 30).then(1, 0), coalesce(col("city"), "none")
    )


def null_of_a_type(t_env):
    return table(t_env, "customers").select(
        null_of(DataTypes.BIGINT()), null_of(DataTypes.STRING()).is_null
    )


def call_by_name(t_env):
    return table(t_env, "customers").select(
        call("UPPER", col("name")), call("CONCAT", col("name"), "-", col("city"))
    )


def call_in_sql(t_env):
    return table(t_env, "customers").select(
        call_sql("age * 2 + 1"), call_sql("CASE WHEN age > 30 THEN 'a' ELSE 'b' END")
    )


@differs("PyFlink cannot read the row of a result")
def constructed_row(t_env):
    return table(t_env, "customers").select(row(col("name"), col("age"), 1))


def column_that_is_missing(t_env):
    return table(t_env, "customers").select(col("nothing"))


def query_of_a_table(t_env):
    old = table(t_env, "customers").where(col("age") > 30)
    return t_env.sql_query(f"SELECT name, age + 1 FROM {old}")


def table_of_a_query(t_env):
    table(t_env, "orders")
    return t_env.sql_query("SELECT customer, amount FROM orders WHERE amount > 7").select(
        col("amount").sum
    )


def temporary_view(t_env):
    t_env.create_temporary_view("big", table(t_env, "orders").where(col("amount") > 7))
    return t_env.from_path("big").group_by(col("product")).select(col("product"), col("id").count)


def written_and_read(t_env, directory):
    t_env.execute_sql(
        "CREATE TABLE kept (customer STRING, amount INT) WITH"
        f" ('connector' = 'filesystem', 'path' = '{directory}/kept', 'format' = 'json')"
    )
    big = table(t_env, "orders").where(col("amount") > 7).select(col("customer"), col("amount"))
    big.execute_insert("kept").wait()
    return t_env.from_path("kept")


@in_batch
def written_twice(t_env, directory):
    t_env.execute_sql(
        "CREATE TABLE kept (customer STRING, amount INT) WITH"
        f" ('connector' = 'filesystem', 'path' = '{directory}/kept', 'format' = 'json')"
    )
    orders = table(t_env, "orders").select(col("customer"), col("amount"))
    both = t_env.create_statement_set()
    both.add_insert("kept", orders.where(col("amount") > 7))
    both.add_insert("kept", orders.where(col("amount") < 2))
    both.execute().wait()
    return t_env.from_path("kept")


def names_of_columns(t_env):
    made = (
        table(t_env, "orders")
        .group_by(col("customer"))
        .select(col("customer"), col("amount").sum, lit(1).count)
    )
    return made.get_schema().get_field_names()


def names_without_aliases(t_env):
    made = table(t_env, "orders").select(
        col("amount") + 1, col("id"), col("customer").upper_case, lit(3)
    )
    return made.get_schema().get_field_names()
