CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: by_time
SELECT id, ts FROM bids ORDER BY ts;
-- program: by_time_and_more
SELECT id, price FROM bids ORDER BY ts, price DESC;
-- program: by_time_descending_is_refused
SELECT id FROM bids ORDER BY ts DESC;
-- program: by_another_column
SELECT id FROM orders ORDER BY price;
-- program: limit_in_streaming
SELECT id FROM bids ORDER BY price DESC, id LIMIT 4;
-- program: offset_in_streaming
SELECT id, price FROM orders ORDER BY price LIMIT 3 OFFSET 2;
-- program: batch_order (batch)
SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 7;
-- program: batch_offset (batch)
-- differs: OFFSET may stand without a LIMIT; Flink refuses it
SELECT id FROM orders ORDER BY id OFFSET 36 ROWS;
-- program: batch_fetch (batch)
SELECT id FROM orders ORDER BY id DESC OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY;
-- program: batch_nulls_first (batch)
SELECT x FROM (VALUES (2), (CAST(NULL AS INT)), (1)) AS t (x) ORDER BY x LIMIT 2;
-- program: batch_nulls_last (batch)
SELECT x FROM (VALUES (2), (CAST(NULL AS INT)), (1)) AS t (x) ORDER BY x NULLS LAST LIMIT 2;
-- program: batch_descending_nulls (batch)
SELECT x FROM (VALUES (2), (CAST(NULL AS INT)), (1)) AS t (x) ORDER BY x DESC LIMIT 2;
-- program: limit_of_a_group
SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer ORDER BY n DESC, customer LIMIT 2;
-- program: order_by_position
SELECT customer, amount FROM orders ORDER BY 2 DESC, 1, id LIMIT 3;
-- program: order_by_what_is_not_selected
SELECT customer FROM orders ORDER BY price DESC LIMIT 2;
-- program: limit_zero
SELECT id FROM orders LIMIT 0;
