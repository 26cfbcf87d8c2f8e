CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: describe_of_time_attributes
-- differs: the names of functions are not put in backticks
CREATE TABLE t (id INT, ts TIMESTAMP(3), p AS PROCTIME(), l AS TO_TIMESTAMP_LTZ(id, 3), WATERMARK FOR l AS l - INTERVAL '5' SECOND) WITH ('connector' = 'datagen');
DESCRIBE t;
-- program: computed_time
CREATE TABLE t (id INT, bidder STRING, item STRING, price INT, text STRING, ts AS TO_TIMESTAMP(text), WATERMARK FOR ts AS ts)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: computed_local_time
CREATE TABLE t (id INT, bidder STRING, item STRING, price INT, text STRING, ts AS TO_TIMESTAMP_LTZ(id * 1000, 3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
SELECT CAST(window_start AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- program: watermark_on_a_nested_field_is_refused
CREATE TABLE t (r ROW<ts TIMESTAMP(3)>, WATERMARK FOR r.ts AS r.ts) WITH ('connector' = 'datagen');
SELECT window_start FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(r), INTERVAL '1' MINUTE));
-- program: watermark_of_a_text_is_refused
CREATE TABLE t (ts STRING, WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
-- program: watermark_of_nine_digits_is_refused
CREATE TABLE t (ts TIMESTAMP(9), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'datagen');
-- program: watermark_of_no_column_is_refused
CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR tss AS ts) WITH ('connector' = 'datagen');
-- program: two_watermarks_are_refused
CREATE TABLE t (a TIMESTAMP(3), b TIMESTAMP(3), WATERMARK FOR a AS a, WATERMARK FOR b AS b) WITH ('connector' = 'datagen');
-- program: window_over_a_plain_time_is_refused
CREATE TABLE t (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3))
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: time_changed_by_an_expression_is_refused
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE((SELECT id, ts + INTERVAL '1' SECOND AS later FROM bids), DESCRIPTOR(later), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: time_through_a_view
CREATE VIEW v AS SELECT id, ts AS happened FROM bids WHERE price > 10;
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(happened), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: time_through_a_union
CREATE VIEW v AS SELECT id, ts FROM bids WHERE price > 10 UNION ALL SELECT id, ts FROM bids WHERE price <= 10;
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: time_is_lost_in_an_aggregate
CREATE VIEW v AS SELECT MAX(ts) AS ts FROM bids GROUP BY bidder;
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: describe_a_view_of_times
-- differs: an expression over a time attribute is an ordinary timestamp, and shown as one; Flink shows it as the attribute
CREATE VIEW v AS SELECT ts, ts + INTERVAL '1' SECOND AS later, PROCTIME() AS p, CAST(ts AS TIMESTAMP(3)) AS plain FROM bids;
DESCRIBE v;
-- program: no_row_is_late_in_batch (batch)
CREATE TABLE strict (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts + INTERVAL '1' DAY)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE strict, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: current_watermark_of_the_first_row
SELECT CURRENT_WATERMARK(ts) IS NULL FROM bids WHERE id = 0;
-- program: proctime_is_a_time
SELECT PROCTIME() IS NOT NULL FROM bids WHERE id = 1;
-- program: times_that_are_compared
SELECT id FROM bids WHERE ts BETWEEN TIMESTAMP '2024-03-01 12:00:40' AND TIMESTAMP '2024-03-01 12:00:55';
-- program: watermark_with_a_condition
CREATE TABLE t (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS CASE WHEN id > 10 THEN ts - INTERVAL '2' SECOND ELSE ts - INTERVAL '1' SECOND END)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: order_by_time
SELECT id FROM bids WHERE id < 5 ORDER BY ts;
-- program: order_by_another_column_is_refused
SELECT id FROM bids ORDER BY price;
-- program: create_a_time_attribute_of_a_time_attribute
CREATE VIEW v AS SELECT window_time AS happened, SUM(price) AS s FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, window_time;
SELECT window_start, MAX(s) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(happened), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
