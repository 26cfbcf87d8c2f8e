CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');

-- program: count_and_sum
SELECT customer, COUNT(*), SUM(amount), AVG(price), MIN(price), MAX(product) FROM orders GROUP BY customer;
-- program: global
SELECT COUNT(*), MIN(price), MAX(price), AVG(amount) FROM orders;
-- program: global_of_nothing
SELECT COUNT(*), SUM(amount), MAX(id) FROM orders WHERE id > 1000;
-- program: group_of_nothing
SELECT customer, COUNT(*) FROM orders WHERE id > 1000 GROUP BY customer;
-- program: global_of_nothing_in_batch (batch)
SELECT COUNT(*), SUM(amount), MAX(id) FROM orders WHERE id > 1000;
-- program: having
SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer HAVING SUM(amount) > 20 AND COUNT(*) > 3;
-- program: distinct
SELECT customer, COUNT(DISTINCT product), SUM(DISTINCT amount), AVG(DISTINCT amount) FROM orders GROUP BY customer;
-- program: filter
SELECT customer, COUNT(*) FILTER (WHERE amount > 5) AS many, SUM(price) FILTER (WHERE product = 'fig'),
  COUNT(DISTINCT product) FILTER (WHERE amount < 5) FROM orders GROUP BY customer;
-- program: grouping_sets
SELECT customer, product, SUM(amount), GROUPING(customer), GROUPING(product), GROUPING_ID(customer, product)
FROM orders GROUP BY GROUPING SETS ((customer, product), (customer), ());
-- program: rollup
SELECT customer, product, COUNT(*) FROM orders GROUP BY ROLLUP (customer, product);
-- program: cube
SELECT customer, product, MAX(amount) FROM orders GROUP BY CUBE (customer, product);
-- program: grouping_sets_in_batch (batch)
SELECT customer, product, SUM(amount) FROM orders GROUP BY GROUPING SETS ((customer), (product));
-- program: by_expression
SELECT amount / 3, COUNT(*) FROM orders GROUP BY amount / 3;
-- program: by_position
SELECT customer, COUNT(*) FROM orders GROUP BY 1;
-- program: by_alias
SELECT UPPER(customer) AS who, COUNT(*) FROM orders GROUP BY who;
-- program: column_that_is_not_grouped
SELECT customer, product, COUNT(*) FROM orders GROUP BY customer;
-- program: nested_aggregate
SELECT MAX(SUM(amount)) FROM orders GROUP BY customer;
-- program: two_levels
SELECT n, COUNT(*) FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) GROUP BY n;
-- program: two_levels_min_max
SELECT MIN(s), MAX(s), SUM(s), AVG(s) FROM (SELECT customer, SUM(amount) AS s FROM orders GROUP BY customer);
-- program: statistics
SELECT customer, STDDEV_POP(amount), VAR_POP(amount) FROM orders WHERE customer = 'bob' GROUP BY customer;
-- program: sample_statistics
SELECT STDDEV_SAMP(amount), VAR_SAMP(amount), VARIANCE(amount) FROM orders WHERE id < 9;
-- program: nulls
SELECT k, COUNT(*), COUNT(v), SUM(v), MIN(v) FROM (VALUES ('a', 1), ('a', CAST(NULL AS INT)), ('b', CAST(NULL AS INT)),
  (CAST(NULL AS STRING), 7)) AS t (k, v) GROUP BY k;
-- program: integer_average
SELECT AVG(x), SUM(x) FROM (VALUES (1), (2), (4)) AS t (x);
-- program: small_integers
SELECT SUM(x), AVG(x), MAX(x) FROM (VALUES (CAST(100 AS TINYINT)), (CAST(20 AS TINYINT))) AS t (x);
-- program: small_integers_overflow
SELECT SUM(x) FROM (VALUES (CAST(100 AS TINYINT)), (CAST(100 AS TINYINT))) AS t (x);
-- program: doubles
SELECT SUM(x), AVG(x), MIN(x) FROM (VALUES (CAST(0.5 AS DOUBLE)), (CAST(2.25 AS DOUBLE)), (CAST(NULL AS DOUBLE))) AS t (x);
-- program: decimals
SELECT SUM(x), AVG(x), MAX(x) FROM (VALUES (CAST(0.5 AS DECIMAL(5, 2))), (CAST(2.25 AS DECIMAL(5, 2)))) AS t (x);
-- program: first_and_last
SELECT customer, FIRST_VALUE(id), LAST_VALUE(id) FROM orders GROUP BY customer;
-- program: listagg
SELECT customer, LISTAGG(product) FROM orders WHERE id < 10 GROUP BY customer;
-- program: listagg_separator
SELECT LISTAGG(product, '; ') FROM orders WHERE id < 6;
-- program: collect
SELECT customer, COLLECT(product) FROM orders WHERE id < 12 GROUP BY customer;
-- program: array_agg
SELECT customer, ARRAY_AGG(amount) FROM orders WHERE id < 12 GROUP BY customer;
-- program: array_agg_distinct
SELECT ARRAY_AGG(DISTINCT product) FROM orders WHERE id < 4;
-- program: json_aggregates
SELECT JSON_ARRAYAGG(product) FROM orders WHERE id < 4;
-- program: json_objectagg
SELECT customer, JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE amount) FROM orders WHERE id < 3 GROUP BY customer;
-- program: count_of_several
SELECT COUNT(DISTINCT customer), COUNT(DISTINCT product), COUNT(DISTINCT amount) FROM orders;
-- program: booleans_and_dates
SELECT MIN(b), MAX(d) FROM (VALUES (TRUE, DATE '2024-01-02'), (FALSE, DATE '2023-12-31')) AS t (b, d);
-- program: group_by_nothing_but_empty_parentheses
SELECT COUNT(*) FROM orders GROUP BY ();
-- program: same_sum_of_a_retracted_group
SELECT SUM(n) FROM (SELECT product, COUNT(*) AS n FROM orders GROUP BY product);
-- program: where_in_aggregate
SELECT COUNT(*) FROM orders WHERE COUNT(*) > 1;
