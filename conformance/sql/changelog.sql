CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: count
-- changelog
SELECT product, COUNT(*) FROM orders WHERE id < 15 GROUP BY product;
-- program: global_aggregate
-- changelog
SELECT COUNT(*), SUM(amount), MIN(price), MAX(price) FROM orders WHERE id < 9;
-- program: unchanged_aggregate_says_nothing
-- changelog
SELECT customer, MAX(product), MIN(amount) FROM orders GROUP BY customer;
-- program: having
-- changelog
SELECT customer, COUNT(*) FROM orders GROUP BY customer HAVING COUNT(*) > 2;
-- program: having_that_ends
-- changelog
SELECT customer, COUNT(*) FROM orders GROUP BY customer HAVING COUNT(*) < 3;
-- program: distinct
-- changelog
SELECT DISTINCT product FROM orders;
-- program: count_distinct
-- changelog
SELECT customer, COUNT(DISTINCT product), COUNT(*) FILTER (WHERE amount > 5) FROM orders WHERE id < 20 GROUP BY customer;
-- program: aggregate_of_an_aggregate
-- changelog
SELECT n, COUNT(*) FROM (SELECT customer, COUNT(*) AS n FROM orders WHERE id < 12 GROUP BY customer) GROUP BY n;
-- program: maximum_that_falls
-- differs: changes are net: a row that disappears and reappears with one change of the input shows no change
-- changelog
SELECT MAX(least), MIN(least) FROM (SELECT product, MIN(price) AS least FROM orders GROUP BY product);
-- program: filter_above_an_aggregate
-- changelog
SELECT customer, s FROM (SELECT customer, SUM(amount) AS s FROM orders GROUP BY customer) WHERE MOD(s, 2) = 0;
-- program: projection_above_an_aggregate
-- changelog
SELECT n > 2 FROM (SELECT customer, COUNT(*) AS n FROM orders WHERE id < 12 GROUP BY customer);
-- program: top_two
-- changelog
SELECT product, id, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY price DESC) AS n FROM orders) WHERE n <= 2;
-- program: top_two_with_their_rank
-- changelog
SELECT product || CAST(n AS STRING), id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY price DESC) AS n FROM orders) WHERE n <= 2;
-- program: second_only
-- changelog
SELECT product, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY price DESC) AS n FROM orders) WHERE n = 2;
-- program: top_of_an_aggregate
-- differs: changes are net: a row that disappears and reappears with one change of the input shows no change
-- changelog
SELECT customer, s FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY s DESC) AS n FROM
  (SELECT customer, SUM(amount) AS s FROM orders WHERE id < 15 GROUP BY customer)) WHERE n <= 2;
-- program: first_row
-- changelog
SELECT id, bidder FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY PROCTIME()) AS n FROM bids) WHERE n = 1;
-- program: last_row
-- changelog
SELECT id, bidder FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY PROCTIME() DESC) AS n FROM bids WHERE id < 12) WHERE n = 1;
-- program: last_row_by_event_time
-- changelog
SELECT id, bidder FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY ts DESC) AS n FROM bids WHERE id < 12) WHERE n = 1;
-- program: union
-- changelog
SELECT product FROM orders UNION SELECT item FROM bids;
-- program: limit
-- changelog
SELECT id FROM orders ORDER BY price DESC LIMIT 3;
-- program: limit_without_an_order
-- changelog
SELECT id FROM orders LIMIT 4;
-- program: tumbling_window
-- changelog
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: window_top_n
-- changelog
SELECT window_end, id, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC, id) AS n
  FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '30' SECOND))) WHERE n <= 2;
-- program: listagg
-- changelog
SELECT customer, LISTAGG(product) FROM orders WHERE id < 12 GROUP BY customer;
-- program: first_and_last_value
-- changelog
SELECT customer, FIRST_VALUE(id), LAST_VALUE(id) FROM orders WHERE id < 12 GROUP BY customer;
-- program: grouping_sets
-- changelog
SELECT product, SUM(amount) FROM orders WHERE id < 5 GROUP BY GROUPING SETS ((product), ());
-- program: values
-- changelog
SELECT v FROM (VALUES (3), (1), (2)) AS t (v);
-- program: join_of_changes
-- differs: a join retracts rows with -D and adds rows with +I; Flink passes -U and +U on
-- changelog
SELECT a.product, n, m FROM (SELECT product, COUNT(*) AS n FROM orders WHERE id < 6 GROUP BY product) a
JOIN (VALUES ('apple', 1), ('fig', 2)) AS b (product, m) ON a.product = b.product;
-- program: empty
-- changelog
SELECT product, COUNT(*) FROM orders WHERE id < 0 GROUP BY product;
-- program: global_of_nothing
-- changelog
SELECT COUNT(*), MAX(id) FROM orders WHERE id < 0;
-- program: state_that_a_group_leaves_empty
-- changelog
SELECT s, COUNT(*) FROM (SELECT product, SUM(amount) AS s FROM orders WHERE id < 12 GROUP BY product) GROUP BY s HAVING COUNT(*) > 0;
-- program: in_batch (batch)
-- changelog
SELECT COUNT(*), SUM(amount) FROM orders;
