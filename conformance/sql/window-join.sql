CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
CREATE TABLE shipments (id INT, bid INT, carrier STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/shipments.csv', 'format' = 'csv');
CREATE VIEW lw AS SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE));
CREATE VIEW rw AS SELECT * FROM TABLE(TUMBLE(TABLE shipments, DESCRIPTOR(ts), INTERVAL '1' MINUTE));

-- program: inner
SELECT l.id, r.id, l.window_start, l.window_end FROM lw l JOIN rw r
ON l.bidder = r.carrier AND l.window_start = r.window_start AND l.window_end = r.window_end;
-- program: left_outer
SELECT l.id, r.id FROM lw l LEFT JOIN rw r ON l.bidder = r.carrier AND l.window_start = r.window_start AND l.window_end = r.window_end;
-- program: full_outer
SELECT l.id, r.id, COALESCE(l.window_start, r.window_start) FROM lw l FULL OUTER JOIN rw r
ON l.bidder = r.carrier AND l.window_start = r.window_start AND l.window_end = r.window_end;
-- program: semi
SELECT l.id FROM lw l WHERE l.bidder IN (SELECT carrier FROM rw r WHERE l.window_start = r.window_start AND l.window_end = r.window_end);
-- program: anti
SELECT l.id FROM lw l WHERE NOT EXISTS (SELECT * FROM rw r WHERE l.bidder = r.carrier AND l.window_start = r.window_start AND l.window_end = r.window_end);
-- program: of_aggregates
SELECT l.window_start, n, m FROM (SELECT window_start, window_end, COUNT(*) AS n FROM lw GROUP BY window_start, window_end) l
JOIN (SELECT window_start, window_end, COUNT(*) AS m FROM rw GROUP BY window_start, window_end) r
ON l.window_start = r.window_start AND l.window_end = r.window_end;
