"""Revenue per product and minute, and the largest orders of each customer, in SQL: no arguments."""

from __future__ import annotations

from millrace.table import EnvironmentSettings, TableEnvironment

TABLES = """
CREATE TABLE orders (
    id BIGINT, product_id INT, customer_id INT, amount DOUBLE,
    ordered AS LOCALTIMESTAMP, WATERMARK FOR ordered AS ordered - INTERVAL '2' SECOND
) WITH (
    'connector' = 'datagen', 'rows-per-second' = '400', 'fields.id.kind' = 'sequence',
    'fields.id.start' = '1', 'fields.id.end' = '100000000', 'fields.product_id.min' = '1',
    'fields.product_id.max' = '40', 'fields.customer_id.min' = '1',
    'fields.customer_id.max' = '500', 'fields.amount.min' = '1', 'fields.amount.max' = '300'
);
CREATE TABLE products (id INT, name STRING, category INT) WITH (
    'connector' = 'datagen', 'rows-per-second' = '5', 'fields.id.kind' = 'sequence',
    'fields.id.start' = '1', 'fields.id.end' = '40', 'fields.name.length' = '8',
    'fields.category.min' = '1', 'fields.category.max' = '6'
);
CREATE TABLE revenue (
    window_start TIMESTAMP(3), window_end TIMESTAMP(3), category INT, orders BIGINT, total DOUBLE
) WITH ('connector' = 'blackhole');
CREATE TABLE best_customers (customer_id INT, orders BIGINT, total DOUBLE) WITH (
    'connector' = 'blackhole'
);
"""
REVENUE = """
INSERT INTO revenue
SELECT window_start, window_end, MOD(product_id, 6), COUNT(*), SUM(amount)
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ordered), INTERVAL '10' SECOND))
WHERE amount > 20
GROUP BY window_start, window_end, MOD(product_id, 6)
"""
CUSTOMERS = """
INSERT INTO best_customers
SELECT o.customer_id, COUNT(*), SUM(o.amount)
FROM orders AS o JOIN products AS p ON o.product_id = p.id
WHERE o.amount > 100 AND p.category <> 3
GROUP BY o.customer_id HAVING COUNT(*) > 2
"""
SETTINGS = {
    "pipeline.name": "Revenue per category and best customers",
    "execution.checkpointing.interval": "2 s",
    "millrace.preview.enabled": "true",
}


def main() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in SETTINGS.items():
        t_env.get_config().set(key, value)
    for statement in filter(str.strip, TABLES.split(";")):
        t_env.execute_sql(statement)
    statements = t_env.create_statement_set()
    statements.add_insert_sql(REVENUE)
    statements.add_insert_sql(CUSTOMERS)
    statements.execute().wait()


if __name__ == "__main__":
    main()
