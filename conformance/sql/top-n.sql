CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: top_two
SELECT customer, id, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY price DESC) AS n FROM orders) WHERE n <= 2;
-- program: with_rank_number
SELECT product, n, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY price DESC) AS n FROM orders) WHERE n <= 3;
-- program: without_partition
SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY price DESC, id) AS n FROM orders) WHERE n <= 5;
-- program: range
SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY price) AS n FROM orders) WHERE n > 2 AND n <= 4;
-- program: exactly_the_second
SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY price) AS n FROM orders) WHERE n = 2;
-- program: of_an_aggregate
SELECT customer, s FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY s DESC) AS n FROM
  (SELECT customer, SUM(amount) AS s FROM orders GROUP BY customer)) WHERE n <= 3;
-- program: rank
-- differs: RANK works in streams, too
SELECT id, n FROM (SELECT *, RANK() OVER (PARTITION BY product ORDER BY amount) AS n FROM orders) WHERE n <= 2;
-- program: rank_in_batch (batch)
SELECT id, n FROM (SELECT *, RANK() OVER (PARTITION BY product ORDER BY amount) AS n FROM orders) WHERE n <= 2;
-- program: dense_rank
-- differs: DENSE_RANK works in streams, too
SELECT id FROM (SELECT *, DENSE_RANK() OVER (PARTITION BY product ORDER BY amount) AS n FROM orders) WHERE n <= 2;
-- program: row_number_without_condition
SELECT id, ROW_NUMBER() OVER (PARTITION BY product ORDER BY amount) FROM orders;
-- program: nulls_come_first
SELECT x, n FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS n FROM (VALUES (3), (CAST(NULL AS INT)), (1)) AS t (x)) WHERE n <= 2;
-- program: variable_bound
-- differs: a row number may be compared with a column; Flink refuses it
SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY amount ORDER BY price) AS n FROM orders) WHERE n <= amount AND amount < 3;
