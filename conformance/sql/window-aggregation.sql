CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: tumble
SELECT window_start, window_end, COUNT(*), SUM(price) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECONDS))
GROUP BY window_start, window_end;
-- program: tumble_by_key
SELECT item, window_start, window_end, MAX(price), COUNT(DISTINCT bidder) FROM TABLE(
  TUMBLE(DATA => TABLE bids, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' MINUTE))
GROUP BY item, window_start, window_end;
-- program: tumble_with_offset
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '7' SECONDS))
GROUP BY window_start, window_end;
-- program: hop
SELECT bidder, window_start, window_end, AVG(price) FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '20' SECONDS, INTERVAL '1' MINUTE))
GROUP BY bidder, window_start, window_end;
-- program: hop_size_is_no_multiple
-- differs: the size need not be a multiple of the slide
SELECT window_start, COUNT(*) FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '20' SECONDS, INTERVAL '50' SECONDS))
GROUP BY window_start, window_end;
-- program: cumulate
SELECT window_start, window_end, SUM(price) FROM TABLE(
  CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '20' SECONDS, INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: session
SELECT bidder, window_start, window_end, COUNT(*), MIN(price) FROM TABLE(
  SESSION(TABLE bids PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '5' SECONDS)) GROUP BY bidder, window_start, window_end;
-- program: session_without_key
SELECT window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE bids, DESCRIPTOR(ts), INTERVAL '6' SECONDS))
GROUP BY window_start, window_end;
-- program: grouping_sets
SELECT window_start, item, bidder, SUM(price) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, GROUPING SETS ((item, bidder), (item), ());
-- program: rollup
SELECT window_end, item, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, ROLLUP (item);
-- program: cube
SELECT window_end, item, bidder, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' MINUTES))
GROUP BY window_start, window_end, CUBE (item, bidder);
-- program: window_of_a_query
-- differs: TABLE takes a query in brackets, too
SELECT window_start, window_end, SUM(part) FROM TABLE(TUMBLE(TABLE (SELECT * FROM bids), DESCRIPTOR(ts), INTERVAL '1' MINUTE))
CROSS JOIN (VALUES (1)) AS v (part) GROUP BY window_start, window_end;
-- program: cascade_of_windows
CREATE VIEW small AS SELECT window_time AS rowtime, item, SUM(price) AS part FROM TABLE(
  TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECONDS)) GROUP BY item, window_start, window_end, window_time;
SELECT window_start, window_end, SUM(part), COUNT(*) FROM TABLE(TUMBLE(TABLE small, DESCRIPTOR(rowtime), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;
-- program: filter_and_having
SELECT window_start, COUNT(*) FILTER (WHERE item = 'pen') AS pens, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '30' SECONDS))
GROUP BY window_start, window_end HAVING COUNT(*) > 3;
-- program: only_window_start
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) GROUP BY window_start;
-- program: in_batch (batch)
SELECT item, window_start, SUM(price) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY item, window_start, window_end;
-- program: hop_in_batch (batch)
SELECT window_start, COUNT(*) FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '30' SECONDS, INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;
-- program: legacy_tumble
SELECT item, TUMBLE_START(ts, INTERVAL '1' MINUTE), TUMBLE_END(ts, INTERVAL '1' MINUTE), COUNT(*) FROM bids
GROUP BY item, TUMBLE(ts, INTERVAL '1' MINUTE);
-- program: legacy_tumble_rowtime
SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE), COUNT(*) FROM bids GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE);
-- program: legacy_hop
SELECT HOP_START(ts, INTERVAL '20' SECONDS, INTERVAL '1' MINUTE), SUM(price) FROM bids
GROUP BY HOP(ts, INTERVAL '20' SECONDS, INTERVAL '1' MINUTE);
-- program: legacy_session
SELECT bidder, SESSION_START(ts, INTERVAL '5' SECONDS), SESSION_END(ts, INTERVAL '5' SECONDS), COUNT(*) FROM bids
GROUP BY bidder, SESSION(ts, INTERVAL '5' SECONDS);
