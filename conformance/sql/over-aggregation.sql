CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: running_count
SELECT id, item, COUNT(*) OVER (PARTITION BY item ORDER BY ts RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM bids;
-- program: range_interval
SELECT id, SUM(price) OVER (PARTITION BY bidder ORDER BY ts RANGE BETWEEN INTERVAL '10' SECONDS PRECEDING AND CURRENT ROW) FROM bids;
-- program: rows_preceding
SELECT id, AVG(price) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM bids;
-- program: rows_unbounded
SELECT id, MAX(price) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM bids;
-- program: default_frame
SELECT id, MIN(price) OVER (PARTITION BY bidder ORDER BY ts) FROM bids;
-- program: without_partition
SELECT id, SUM(price) OVER (ORDER BY ts RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM bids;
-- program: named_window
SELECT id, SUM(price) OVER w, COUNT(*) OVER w FROM bids
WINDOW w AS (PARTITION BY item ORDER BY ts RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW);
-- program: several_aggregates
SELECT id, SUM(price) OVER w, AVG(price) OVER w, MIN(price) OVER w, MAX(price) OVER w FROM bids
WINDOW w AS (PARTITION BY bidder ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW);
-- program: two_frames
-- differs: the frames of one query may differ; Flink refuses it
SELECT id, SUM(price) OVER (ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW),
  SUM(price) OVER (ORDER BY ts ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) FROM bids;
-- program: order_by_no_time
SELECT id, SUM(price) OVER (ORDER BY price) FROM bids;
-- program: row_number_in_any_order
SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price) FROM bids WHERE id < 12;
-- program: any_order_over_updates
SELECT item, n, SUM(n) OVER (ORDER BY n) FROM (SELECT item, COUNT(*) AS n FROM bids GROUP BY item);
-- program: rank_in_any_order
-- differs: RANK works as in SQL and in batch mode; Flink's stream gives the number of the last of equal rows
SELECT id, RANK() OVER (ORDER BY price / 10) FROM bids WHERE id < 12;
-- program: any_order_descending_is_refused
SELECT id, SUM(price) OVER (ORDER BY price DESC) FROM bids;
-- program: any_order_bounded_is_refused
SELECT id, SUM(price) OVER (ORDER BY price ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM bids;
-- program: ranks_by_time
SELECT id, RANK() OVER (PARTITION BY item ORDER BY ts), DENSE_RANK() OVER (PARTITION BY item ORDER BY ts) FROM bids WHERE id BETWEEN 14 AND 40;
-- program: following_is_refused
SELECT id, SUM(price) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM bids;
-- program: lag_of_rows_with_one_time
-- differs: LAG counts rows; in Flink all rows with the same time get the result of the last of them
SELECT id, LAG(price) OVER (PARTITION BY item ORDER BY ts), LAG(price, 2) OVER (PARTITION BY item ORDER BY ts) FROM bids;
-- program: lag
SELECT id, LAG(price) OVER (PARTITION BY item ORDER BY ts), LAG(price, 2) OVER (PARTITION BY item ORDER BY ts) FROM bids WHERE id BETWEEN 14 AND 40;
-- program: lag_with_default
SELECT id, LAG(price, 1, -1) OVER (PARTITION BY item ORDER BY ts) FROM bids WHERE id BETWEEN 14 AND 40;
-- program: first_and_last_value
SELECT id, FIRST_VALUE(price) OVER (PARTITION BY item ORDER BY ts), LAST_VALUE(price) OVER (PARTITION BY item ORDER BY ts) FROM bids;
-- program: count_distinct
SELECT id, COUNT(DISTINCT bidder) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) FROM bids;
-- program: expression_around
SELECT id, price - AVG(price) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS above FROM bids;
-- program: batch_frames (batch)
SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING),
  COUNT(*) OVER (PARTITION BY bidder ORDER BY price) FROM bids;
-- program: batch_lead (batch)
SELECT id, LEAD(price) OVER (PARTITION BY item ORDER BY id), LAG(price) OVER (PARTITION BY item ORDER BY id) FROM bids;
-- program: batch_ranks (batch)
SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price, id), RANK() OVER (PARTITION BY item ORDER BY price),
  DENSE_RANK() OVER (PARTITION BY item ORDER BY price) FROM bids;
-- program: batch_ntile (batch)
SELECT id, NTILE(3) OVER (PARTITION BY item ORDER BY id), PERCENT_RANK() OVER (PARTITION BY item ORDER BY price),
  CUME_DIST() OVER (PARTITION BY item ORDER BY id) FROM bids;
-- program: batch_cume_dist_of_equal_rows (batch)
SELECT id, CUME_DIST() OVER (PARTITION BY item ORDER BY price) FROM bids;
-- program: batch_without_order (batch)
SELECT id, SUM(price) OVER (PARTITION BY item) FROM bids;
