CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: first_by_time
SELECT id, bidder FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, item ORDER BY ts ASC) AS n FROM bids) WHERE n = 1;
-- program: last_by_time
SELECT bidder, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY ts DESC) AS n FROM bids) WHERE n = 1;
-- program: first_by_processing_time
SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY proc ASC) AS n FROM (SELECT *, PROCTIME() AS proc FROM bids)) WHERE n = 1;
-- program: last_by_processing_time
SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY proc DESC) AS n FROM (SELECT *, PROCTIME() AS proc FROM bids)) WHERE n = 1;
-- program: in_batch (batch)
SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY id DESC) AS n FROM bids) WHERE n = 1;
