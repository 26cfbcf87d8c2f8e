CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');

-- program: one_column
SELECT DISTINCT product FROM orders;
-- program: two_columns
SELECT DISTINCT customer, product FROM orders WHERE amount > 4;
-- program: with_null
SELECT DISTINCT x FROM (VALUES (1), (CAST(NULL AS INT)), (1), (CAST(NULL AS INT)), (2)) AS t (x);
-- program: on_top_of_a_group
SELECT DISTINCT n FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer);
-- program: expression
SELECT DISTINCT amount / 2 FROM orders;
-- program: in_batch (batch)
SELECT DISTINCT customer FROM orders;
