"""Flink's page "Table API": scans, projections, filters, aggregations, columns."""

from conformance.table_data import table
from conformance.table_program import differs, in_batch, no_twin, twin
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


@twin("SELECT id, price * 2, product AS what FROM orders")
def select(t_env):
    orders = table(t_env, "orders")
    return orders.select(orders.id, orders.price * 2, orders.product.alias("what"))


@twin("SELECT * FROM orders")
def select_everything(t_env):
    return table(t_env, "orders").select(col("*"))


@twin("SELECT 'x', 1, 2.5e0, TRUE, CAST(NULL AS INT) FROM customers")
def select_strings_of_constants(t_env):
    return table(t_env, "customers").select(
        lit("x"), lit(1), lit(2.5), lit(True), lit(None, DataTypes.INT())
    )


@twin("SELECT id FROM orders WHERE amount > 5")
def where(t_env):
    orders = table(t_env, "orders")
    return orders.where(orders.amount > 5).select(orders.id)


@twin("SELECT id FROM orders WHERE amount > 5 AND customer = 'eve' OR id = 1")
def filter_of_two_conditions(t_env):
    orders = table(t_env, "orders")
    return orders.filter(
        (col("amount") > 5) & (col("customer") == "eve") | (col("id") == 1)
    ).select(col("id"))


@twin("SELECT id FROM orders WHERE NOT (amount > 2)")
def filter_not(t_env):
    return table(t_env, "orders").filter(~(col("amount") > 2)).select(col("id"))


@twin("SELECT id FROM orders WHERE amount > 6 AND product = 'pear' OR NOT (amount >= 2)")
def filter_and_or_not(t_env):
    condition = or_(and_(col("amount") > 6, col("product") == "pear"), not_(col("amount") >= 2))
    return table(t_env, "orders").filter(condition).select(col("id"))


@twin("SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer")
def group_by(t_env):
    orders = table(t_env, "orders")
    return orders.group_by(orders.customer).select(
        orders.customer, orders.amount.sum.alias("total")
    )


@twin(
    "SELECT product, customer, MAX(amount), MIN(price), COUNT(1) FROM orders GROUP BY "
    "customer, product"
)
def group_by_two(t_env):
    return (
        table(t_env, "orders")
        .group_by(col("customer"), col("product"))
        .select(col("product"), col("customer"), col("amount").max, col("price").min, lit(1).count)
    )


@twin("SELECT amount / 3 AS third, COUNT(id) AS n FROM orders GROUP BY amount / 3")
def group_by_expression(t_env):
    return (
        table(t_env, "orders")
        .group_by((col("amount") / 3).alias("third"))
        .select(col("third"), col("id").count.alias("n"))
    )


@twin("SELECT AVG(amount) FROM orders GROUP BY customer")
def group_without_key(t_env):
    return table(t_env, "orders").group_by(col("customer")).select(col("amount").avg)


@twin("SELECT SUM(amount), AVG(amount), MAX(price), COUNT(id) FROM orders")
def aggregate_all(t_env):
    return table(t_env, "orders").select(
        col("amount").sum, col("amount").avg, col("price").max, col("id").count
    )


@twin("SELECT SUM0(amount), COUNT(id) FROM orders WHERE id > 1000")
def aggregate_of_nothing(t_env):
    return (
        table(t_env, "orders").filter(col("id") > 1000).select(col("amount").sum0, col("id").count)
    )


@twin(
    "SELECT customer, COUNT(DISTINCT product), SUM(DISTINCT amount) AS s FROM orders GROUP "
    "BY customer"
)
def aggregate_distinct(t_env):
    return (
        table(t_env, "orders")
        .group_by(col("customer"))
        .select(
            col("customer"), col("product").count.distinct, col("amount").sum.distinct.alias("s")
        )
    )


@twin("SELECT product, MAX(amount) - MIN(amount) AS spread FROM orders GROUP BY product")
def aggregate_in_expression(t_env):
    return (
        table(t_env, "orders")
        .group_by(col("product"))
        .select(col("product"), (col("amount").max - col("amount").min).alias("spread"))
    )


@twin("SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer HAVING SUM(amount) > 25")
def having(t_env):
    totals = (
        table(t_env, "orders")
        .group_by(col("customer"))
        .select(col("customer"), col("amount").sum.alias("total"))
    )
    return totals.where(col("total") > 25)


@twin(
    "SELECT STDDEV_POP(amount), VAR_POP(amount), STDDEV_SAMP(amount), VAR_SAMP(amount) FROM "
    "orders WHERE customer = 'bob'"
)
def statistics(t_env):
    amounts = table(t_env, "orders").filter(col("customer") == "bob")
    return amounts.select(
        col("amount").stddev_pop,
        col("amount").var_pop,
        col("amount").stddev_samp,
        col("amount").var_samp,
    )


@twin("SELECT customer, COLLECT(product) FROM orders WHERE id < 9 GROUP BY customer")
def collect(t_env):
    return (
        table(t_env, "orders")
        .filter(col("id") < 9)
        .group_by(col("customer"))
        .select(col("customer"), col("product").collect)
    )


@twin("SELECT product, LISTAGG(customer, '|') FROM orders WHERE product = 'plum' GROUP BY product")
def list_agg(t_env):
    return (
        table(t_env, "orders")
        .filter(col("product") == "plum")
        .group_by(col("product"))
        .select(col("product"), col("customer").list_agg("|"))
    )


@twin(
    "SELECT n, COUNT(customer) FROM (SELECT customer, COUNT(id) AS n FROM orders GROUP BY "
    "customer) GROUP BY n"
)
def two_levels(t_env):
    counts = (
        table(t_env, "orders")
        .group_by(col("customer"))
        .select(col("customer"), col("id").count.alias("n"))
    )
    return counts.group_by(col("n")).select(col("n"), col("customer").count)


@twin("SELECT DISTINCT product FROM orders")
def distinct(t_env):
    return table(t_env, "orders").select(col("product")).distinct()


@twin("SELECT DISTINCT customer, amount > 4 FROM orders")
def distinct_of_two(t_env):
    return table(t_env, "orders").select(col("customer"), col("amount") > 4).distinct()


@twin("SELECT b, a FROM customers AS t (a, b, c)")
def alias(t_env):
    return table(t_env, "customers").alias("a", "b", "c").select(col("b"), col("a"))


@twin("SELECT name AS a, city FROM customers")
def alias_of_some(t_env):
    return table(t_env, "customers").alias("a").select(col("a"), col("city"))


@twin("SELECT *, UPPER(name), age + 1 AS older FROM customers")
def add_columns(t_env):
    return table(t_env, "customers").add_columns(
        col("name").upper_case, (col("age") + 1).alias("older")
    )


@no_twin("SQL gives the second column another name")
def add_column_that_is_there(t_env):
    return table(t_env, "customers").add_columns(col("city").upper_case.alias("name"))


@twin("SELECT UPPER(city) AS name, city, age, 1 AS `one` FROM customers")
def add_or_replace_columns(t_env):
    return table(t_env, "customers").add_or_replace_columns(
        col("city").upper_case.alias("name"), lit(1).alias("one")
    )


@twin("SELECT name AS who, city FROM customers")
def rename_columns(t_env):
    return (
        table(t_env, "customers")
        .rename_columns(col("name").alias("who"))
        .select(col("who"), col("city"))
    )


@twin("SELECT name FROM customers")
def drop_columns(t_env):
    return table(t_env, "customers").drop_columns(col("city"), col("age"))


@no_twin("SQL has no SELECT of all columns but some")
def drop_column_that_is_missing(t_env):
    return table(t_env, "customers").drop_columns(col("nothing"))


@twin("SELECT customer, product, amount FROM orders")
def with_range_of_names(t_env):
    return table(t_env, "orders").select(with_columns(range_("customer", "amount")))


@twin("SELECT customer, product, id FROM orders")
def with_range_of_numbers(t_env):
    return table(t_env, "orders").select(with_columns(range_(2, 3)), with_columns(col("id")))


@twin("SELECT customer, product, amount FROM orders")
def without_some(t_env):
    return table(t_env, "orders").select(without_columns(col("id"), col("price")))


@twin("SELECT *, 'end' FROM customers")
def all_columns(t_env):
    return table(t_env, "customers").select(with_all_columns(), lit("end"))


@twin("SELECT id, people.home.street AS home$street, people.home.zip AS home$zip FROM people")
def flatten(t_env):
    return table(t_env, "people").select(col("id"), col("home").flatten)


@twin("SELECT people.home.street AS street, people.home.zip AS zip FROM people")
def field_of_a_row(t_env):
    return table(t_env, "people").select(col("home").get("street"), col("home").get("zip"))


@twin("SELECT tags[1], CARDINALITY(tags), scores['x'] FROM people")
def element_of_an_array(t_env):
    return table(t_env, "people").select(
        col("tags").at(1), col("tags").cardinality, col("scores").at("x")
    )


@twin("SELECT name, CASE WHEN age > 30 THEN 'old' ELSE 'young' END FROM customers")
def case_of_two(t_env):
    return table(t_env, "customers").select(
        col("name"), if_then_else(col("age") > 30, "old", "young")
    )


@twin("SELECT CASE WHEN age > 30 THEN 1 ELSE 0 END, COALESCE(city, 'none') FROM customers")
def then(t_env):
    return table(t_env, "customers").select(
        (col("age") > 30).then(1, 0), coalesce(col("city"), "none")
    )


@twin("SELECT CAST(NULL AS BIGINT), CAST(NULL AS STRING) IS NULL FROM customers")
def null_of_a_type(t_env):
    return table(t_env, "customers").select(
        null_of(DataTypes.BIGINT()), null_of(DataTypes.STRING()).is_null
    )


@twin("SELECT UPPER(name), CONCAT(name, '-', city) FROM customers")
def call_by_name(t_env):
    return table(t_env, "customers").select(
        call("UPPER", col("name")), call("CONCAT", col("name"), "-", col("city"))
    )


@twin("SELECT age * 2 + 1, CASE WHEN age > 30 THEN 'a' ELSE 'b' END FROM customers")
def call_in_sql(t_env):
    return table(t_env, "customers").select(
        call_sql("age * 2 + 1"), call_sql("CASE WHEN age > 30 THEN 'a' ELSE 'b' END")
    )


@twin("SELECT ROW(name, age, 1) FROM customers")
@differs("PyFlink cannot read the row of a result")
def constructed_row(t_env):
    return table(t_env, "customers").select(row(col("name"), col("age"), 1))


@twin("SELECT nothing FROM customers")
def column_that_is_missing(t_env):
    return table(t_env, "customers").select(col("nothing"))


@twin("SELECT name, age + 1 FROM customers WHERE age > 30")
def query_of_a_table(t_env):
    old = table(t_env, "customers").where(col("age") > 30)
    return t_env.sql_query(f"SELECT name, age + 1 FROM {old}")


@twin("SELECT SUM(amount) FROM orders WHERE amount > 7")
def table_of_a_query(t_env):
    table(t_env, "orders")
    return t_env.sql_query("SELECT customer, amount FROM orders WHERE amount > 7").select(
        col("amount").sum
    )


@twin(
    "CREATE TEMPORARY VIEW huge AS SELECT * FROM orders WHERE amount > 7;\n"
    "SELECT product, COUNT(id) FROM huge GROUP BY product"
)
def temporary_view(t_env):
    t_env.create_temporary_view("big", table(t_env, "orders").where(col("amount") > 7))
    return t_env.from_path("big").group_by(col("product")).select(col("product"), col("id").count)


@twin("INSERT INTO kept SELECT customer, amount FROM orders WHERE amount > 7;\nSELECT * FROM kept")
def written_and_read(t_env, directory):
    t_env.execute_sql(
        "CREATE TABLE kept (customer STRING, amount INT) WITH"
        f" ('connector' = 'filesystem', 'path' = '{directory}/kept', 'format' = 'json')"
    )
    big = table(t_env, "orders").where(col("amount") > 7).select(col("customer"), col("amount"))
    big.execute_insert("kept").wait()
    return t_env.from_path("kept")


@twin(
    "EXECUTE STATEMENT SET BEGIN INSERT INTO kept SELECT customer, amount FROM orders WHERE "
    "amount > 7; INSERT INTO kept SELECT customer, amount FROM orders WHERE amount < 2; END;\n"
    "SELECT * FROM kept"
)
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


@no_twin("it asks for names, and runs nothing")
def names_of_columns(t_env):
    made = (
        table(t_env, "orders")
        .group_by(col("customer"))
        .select(col("customer"), col("amount").sum, lit(1).count)
    )
    return made.get_schema().get_field_names()


@no_twin("it asks for names, and runs nothing")
def names_without_aliases(t_env):
    made = table(t_env, "orders").select(
        col("amount") + 1, col("id"), col("customer").upper_case, lit(3)
    )
    return made.get_schema().get_field_names()
