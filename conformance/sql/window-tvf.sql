CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: tumble
SELECT id, window_start, window_end, window_time FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES));
-- program: hop
SELECT id, window_start, window_end FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)) WHERE id < 5;
-- program: cumulate
SELECT id, window_end FROM TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '20' SECONDS, INTERVAL '1' MINUTE)) WHERE id < 9;
-- program: session
SELECT id, bidder, window_start, window_end FROM TABLE(SESSION(TABLE bids PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '5' SECONDS));
-- program: named_arguments
SELECT id, window_start FROM TABLE(TUMBLE(DATA => TABLE bids, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' HOUR, `OFFSET` => INTERVAL '20' MINUTES)) WHERE id > 50;
-- program: no_time_attribute
SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(price), INTERVAL '10' MINUTES));
-- program: negative_size
SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '-10' MINUTES));
-- program: cumulate_size_is_no_multiple
SELECT id FROM TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '25' SECONDS, INTERVAL '1' MINUTE));
-- program: of_a_filtered_view
CREATE VIEW pens AS SELECT * FROM bids WHERE item = 'pen';
SELECT id, window_start FROM TABLE(TUMBLE(TABLE pens, DESCRIPTOR(ts), INTERVAL '1' MINUTE));
