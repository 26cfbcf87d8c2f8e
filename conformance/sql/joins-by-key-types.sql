CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
CREATE VIEW a AS SELECT id, CAST(CASE id WHEN 0 THEN '1.5' WHEN 1 THEN '1.5' WHEN 2 THEN 'NaN' WHEN 3 THEN '-0.0' WHEN 4 THEN '0.0' WHEN 5 THEN 'Infinity' END AS DOUBLE) AS k FROM orders WHERE id BETWEEN 1 AND 6;
CREATE VIEW b AS SELECT id AS y, k FROM a;

-- program: values_of_doubles
SELECT id, CAST(k AS STRING), k > 1, k = 0, k < 1 FROM a;
-- program: inner_by_doubles
SELECT id, y FROM a JOIN b ON a.k = b.k;
-- program: full_by_doubles
SELECT id, y FROM a FULL JOIN b ON a.k = b.k;
-- program: inner_by_doubles_in_batch (batch)
-- differs: batch and stream have the same result; in Flink's batch mode NaN matches nothing and -0.0 matches 0.0
SELECT id, y FROM a JOIN b ON a.k = b.k;
-- program: inner_by_a_float_and_a_double
SELECT id, y FROM (SELECT CAST(k AS FLOAT) AS k, id FROM a) AS a JOIN b ON a.k = b.k;
-- program: semi_by_doubles
SELECT id FROM a WHERE k IN (SELECT k FROM b);
-- program: not_distinct_doubles
-- differs: IS NOT DISTINCT FROM compares floating point numbers by value, as outside of joins
SELECT id, y FROM a JOIN b ON a.k IS NOT DISTINCT FROM b.k;
-- program: cross_compared
SELECT id, y FROM a, b WHERE a.k <= b.k AND a.k >= b.k;
-- program: groups_of_doubles
SELECT COUNT(*) FROM a GROUP BY k;
-- program: join_by_rows_of_doubles
SELECT id, y FROM (SELECT ROW(k) AS k, id FROM a) AS a JOIN (SELECT ROW(k) AS k, y FROM b) AS b ON a.k = b.k;
-- program: order_of_doubles (batch)
SELECT k, ROW_NUMBER() OVER (ORDER BY k) FROM a;
-- program: signs_in_groups
SELECT k, COUNT(*) FROM (SELECT -k AS k FROM a WHERE id IN (3, 4)) GROUP BY k;
-- program: join_by_decimals_of_two_scales
SELECT x, y FROM (VALUES (1.5, 'a'), (2.0, 'b')) AS a (k, x) JOIN (VALUES (1.50, 'c'), (2.000, 'd')) AS b (k, y) ON a.k = b.k;
-- program: join_by_an_integer_and_a_decimal
SELECT x, y FROM (VALUES (1, 'a'), (2, 'b')) AS a (k, x) JOIN (VALUES (1.00, 'c'), (2.50, 'd')) AS b (k, y) ON a.k = b.k;
-- program: join_by_an_integer_and_a_double
SELECT x, y FROM (VALUES (1, 'a'), (2, 'b')) AS a (k, x) JOIN (VALUES (CAST(1 AS DOUBLE), 'c'), (CAST(2.5 AS DOUBLE), 'd')) AS b (k, y) ON a.k = b.k;
-- program: join_by_char_and_string
SELECT x, y FROM (VALUES ('a ', 1), ('b', 2)) AS a (k, x) JOIN (VALUES (CAST('a' AS STRING), 3), (CAST('b' AS STRING), 4)) AS b (k, y) ON a.k = b.k;
-- program: join_by_timestamps_of_two_precisions
SELECT x, y FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00', 1)) AS a (k, x) JOIN (VALUES (TIMESTAMP '2024-01-01 00:00:00.000', 3), (TIMESTAMP '2024-01-01 00:00:00.001', 4)) AS b (k, y) ON a.k = b.k;
