CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
CREATE TABLE rates (item STRING, rate DECIMAL(4, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'filesystem', 'path' = '${data}/rates.csv', 'format' = 'csv');
CREATE VIEW versioned AS SELECT item, rate, ts FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts DESC) AS n FROM rates) WHERE n = 1;

-- program: versioned_view
SELECT b.id, b.price * v.rate AS cost FROM bids AS b JOIN versioned FOR SYSTEM_TIME AS OF b.ts AS v ON b.item = v.item;
-- program: left_join
SELECT b.id, v.rate, v.ts FROM bids AS b LEFT JOIN versioned FOR SYSTEM_TIME AS OF b.ts AS v ON b.item = v.item;
-- program: with_a_condition
SELECT b.id, v.rate FROM bids AS b LEFT JOIN versioned FOR SYSTEM_TIME AS OF b.ts AS v ON b.item = v.item AND b.price > 10;
-- program: then_aggregated
SELECT b.item, SUM(b.price * v.rate) FROM bids AS b JOIN versioned FOR SYSTEM_TIME AS OF b.ts AS v ON b.item = v.item GROUP BY b.item;
-- program: table_without_a_key
SELECT b.id FROM bids AS b JOIN rates FOR SYSTEM_TIME AS OF b.ts AS v ON b.item = v.item;
-- program: key_is_not_in_the_condition
SELECT b.id FROM bids AS b JOIN versioned FOR SYSTEM_TIME AS OF b.ts AS v ON b.price = v.rate;
-- program: full_join_is_refused
SELECT b.id FROM bids AS b FULL JOIN versioned FOR SYSTEM_TIME AS OF b.ts AS v ON b.item = v.item;
