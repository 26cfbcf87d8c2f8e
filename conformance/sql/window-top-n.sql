CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: top_of_window_rows
SELECT id, price, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC, id) AS n
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) WHERE n <= 2;
-- program: top_of_window_aggregates
SELECT item, s, window_end, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY s DESC) AS n FROM
(SELECT window_start, window_end, item, SUM(price) AS s FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' MINUTES)) GROUP BY window_start, window_end, item)) WHERE n <= 2;
-- program: with_a_key
SELECT bidder, id, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, bidder ORDER BY price DESC, id) AS n
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' MINUTES))) WHERE n <= 1;
-- program: last_of_each_window
SELECT id, window_start, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY ts DESC) AS n
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' HOUR))) WHERE n <= 1;
-- program: first_per_key_of_each_window
SELECT item, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, item ORDER BY ts ASC) AS n
FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES))) WHERE n = 1;
-- program: of_hopping_windows
SELECT window_start, item, c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY c DESC, item) AS n FROM
(SELECT window_start, window_end, item, COUNT(*) AS c FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTES)) GROUP BY window_start, window_end, item)) WHERE n = 1;
