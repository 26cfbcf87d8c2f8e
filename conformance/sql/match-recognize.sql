CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: falling_prices
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES FIRST(A.id) AS a, LAST(B.id) AS b, C.price AS c
ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C)
DEFINE B AS B.price < LAST(B.price, 1) OR (LAST(B.price, 1) IS NULL AND B.price < A.price), C AS C.price > LAST(B.price));
-- program: quantifiers
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a, COUNT(B.id) AS n, C.id AS c
AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{1,3} C) DEFINE A AS A.price > 15, B AS B.price <= 15, C AS C.price > 20);
-- program: reluctant
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b, C.id AS c
PATTERN (A B*? C) DEFINE A AS A.price > 10, B AS B.price < 28, C AS C.price > 12);
-- program: optional
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a, B.id AS b, C.id AS c
PATTERN (A B? C) DEFINE A AS A.price > 20, B AS B.price < 8, C AS C.price BETWEEN 8 AND 20);
-- program: aggregates
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY bidder ORDER BY ts MEASURES FIRST(A.ts) AS begins, LAST(A.ts) AS ends, AVG(A.price) AS mean
PATTERN (A+ B) DEFINE A AS AVG(A.price) < 15, B AS TRUE);
-- program: within
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a, C.id AS c
PATTERN (A B* C) WITHIN INTERVAL '10' SECOND DEFINE A AS A.price > 15, B AS B.price < 15, C AS C.price > 15);
-- program: skip_to_first
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b
AFTER MATCH SKIP TO FIRST B PATTERN (A B+ C) DEFINE A AS A.price > 5, B AS B.price < 25, C AS C.price > 20);
-- program: skip_to_last
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b
AFTER MATCH SKIP TO LAST B PATTERN (A B+ C) DEFINE A AS A.price > 5, B AS B.price < 25, C AS C.price > 20);
-- program: rowtime_of_a_match
SELECT a, t FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a, MATCH_ROWTIME() AS t
PATTERN (A B) DEFINE A AS A.price > 15, B AS B.price > A.price);
-- program: logical_offsets
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES FIRST(A.id, 1) AS second, LAST(A.id, 1) AS last_but_one
PATTERN (A{3} B) DEFINE A AS A.price > 3, B AS B.price < 15);
-- program: all_rows_is_refused
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS B.price > 3);
-- program: unbounded_greedy_end_is_refused
SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES A.id AS a PATTERN (A B+) DEFINE B AS B.price > 3);
-- program: without_partition
SELECT * FROM bids MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a, B.id AS b PATTERN (A B) DEFINE A AS A.price = 30, B AS TRUE);
-- program: alternation_is_refused
SELECT * FROM bids MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a PATTERN (A | B) DEFINE A AS A.price > 3);
