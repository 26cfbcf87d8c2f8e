CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
CREATE VIEW nums (i, l, f, d, s, n) AS VALUES (1, CAST(2 AS BIGINT), CAST(0.1 AS FLOAT), CAST(-0.0 AS DOUBLE), 'abc', CAST(1.25 AS DECIMAL(10,2))),
  (-5, CAST(NULL AS BIGINT), CAST(NULL AS FLOAT), CAST('NaN' AS DOUBLE), CAST(NULL AS STRING), CAST(NULL AS DECIMAL(10,2)));

-- program: the_least_integers
SELECT -2147483648, -2147483648 - 1, -9223372036854775808, -9223372036854775808 - 1, TYPEOF(-2147483648), TYPEOF(-9223372036854775808), TYPEOF(-(2147483648));
-- program: conditions_with_null
SELECT COALESCE(CAST(NULL AS INT), 1, 2.5), NULLIF(1, 1.0), IFNULL(s, 'x'), IF(i > 0, 'p', 'n'), IF(CAST(NULL AS BOOLEAN), 1, 2), GREATEST(i, l), LEAST(2, 1.5), CASE i WHEN 1 THEN 'one' END FROM nums;
-- program: arrays_with_null
SELECT CAST(ARRAY_DISTINCT(ARRAY[1,1,CAST(NULL AS INT),NULL]) AS STRING), CAST(ARRAY_REMOVE(ARRAY[1,2,CAST(NULL AS INT),2], 2) AS STRING), CAST(ARRAY_SLICE(ARRAY['a','b','c','d','e'], -3, -1) AS STRING), CAST(ARRAY_UNION(ARRAY[1,CAST(NULL AS INT)], ARRAY[1,2]) AS STRING), CAST(ARRAY_CONCAT(ARRAY[1], ARRAY[2]) AS STRING), CAST(ARRAY_SLICE(ARRAY[1,2,3], 0, 2) AS STRING), CAST(ARRAY_SLICE(ARRAY[1,2,3], 3, 2) AS STRING), CAST(ARRAY_SLICE(ARRAY[1,2,3], 5) AS STRING);
-- program: sorted_arrays_with_null
SELECT CAST(ARRAY_SORT(ARRAY[3,CAST(NULL AS INT),1]) AS STRING), CAST(ARRAY_SORT(ARRAY[3,CAST(NULL AS INT),1], FALSE) AS STRING), CAST(ARRAY_SORT(ARRAY[3,CAST(NULL AS INT),1], TRUE, FALSE) AS STRING), ARRAY_MAX(ARRAY[1,CAST(NULL AS INT),5]), ARRAY_MIN(ARRAY[CAST(NULL AS INT)]), ARRAY_JOIN(ARRAY['a',CAST(NULL AS STRING),'b'], ','), ARRAY_JOIN(ARRAY['a',CAST(NULL AS STRING),'b'], ',', '*');
-- program: sets_of_arrays
SELECT CAST(ARRAY_EXCEPT(ARRAY[1,2,2,3], ARRAY[2]) AS STRING), CAST(ARRAY_INTERSECT(ARRAY[1,1,2], ARRAY[1,3]) AS STRING), CAST(ARRAY_APPEND(ARRAY[1], CAST(NULL AS INT)) AS STRING), CAST(ARRAY_PREPEND(ARRAY[1], 0) AS STRING), CAST(ARRAY_REVERSE(ARRAY[1,2]) AS STRING), CAST(ARRAY_APPEND(CAST(NULL AS ARRAY<INT>), 1) AS STRING);
-- program: json_paths
SELECT JSON_VALUE('{"a":null}', '$.a'), JSON_VALUE('{"a":[1,2]}', '$.a[1]'), JSON_VALUE('{"a":{"b":1}}', '$.a' NULL ON ERROR), JSON_QUERY('{"a":[1,2]}', '$.a'), JSON_QUERY('{"a":1}', '$.a' WITH WRAPPER), JSON_EXISTS('{"a":1}', 'strict $.b' FALSE ON ERROR), JSON_VALUE('{"a":5}', '$.a' RETURNING INT), JSON_VALUE('{"a":1.5}', '$.a' RETURNING DOUBLE), JSON_VALUE('{"a":"x"}', 'lax $.b' DEFAULT 'd' ON EMPTY);
-- program: json_of_null
SELECT JSON_OBJECT('a' VALUE CAST(NULL AS INT) ABSENT ON NULL), JSON_OBJECT(KEY 'k' VALUE JSON_ARRAY(1, 'x')), JSON_ARRAY(), JSON_STRING(CAST(NULL AS INT)), JSON_STRING(ARRAY[1, CAST(NULL AS INT)]), JSON_STRING(MAP['a', 1.50]), '{}' IS JSON ARRAY, '' IS JSON, '1' IS JSON SCALAR, '[1' IS NOT JSON;
-- program: overlays_at_the_ends
SELECT OVERLAY('abcdef' PLACING 'X' FROM 3), OVERLAY('abcdef' PLACING 'XYZ' FROM 10), OVERLAY('abcdef' PLACING 'XYZ' FROM 5), OVERLAY('abcdef' PLACING 'X' FROM 2 FOR 9), OVERLAY('abcdef' PLACING 'X' FROM 0 FOR 2);
-- program: rows_of_one_time
SELECT id, COUNT(*) OVER w, SUM(price) OVER w FROM bids WINDOW w AS (PARTITION BY item ORDER BY ts RANGE BETWEEN INTERVAL '0' SECOND PRECEDING AND CURRENT ROW);
-- program: qualify_by_a_name (batch)
SELECT item, price * 2 AS price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price, id) AS n FROM bids QUALIFY n <= 2 AND price > 2;
-- program: arrays_of_aggregates
SELECT CAST(ARRAY_AGG(price) AS STRING), CAST(ARRAY_AGG(DISTINCT item) AS STRING), CAST(ARRAY_AGG(CAST(NULL AS INT)) AS STRING), CAST(ARRAY_AGG(CAST(NULL AS INT) IGNORE NULLS) AS STRING) FROM bids WHERE id < 2;
-- program: percentiles
SELECT PERCENTILE(price, 0.5), PERCENTILE(price, ARRAY[0.25, 0.75]), PERCENTILE(price, 0), PERCENTILE(price, 0.5, id) FROM bids WHERE id < 5;
-- program: times_of_numbers
SELECT CAST(TO_TIMESTAMP_LTZ(1700000000, 0) AS STRING), CAST(TO_TIMESTAMP_LTZ(1700000000123, 3) AS STRING), UNIX_TIMESTAMP('2024/01/01', 'yyyy/MM/dd'), FROM_UNIXTIME(0), FROM_UNIXTIME(86399, 'HH:mm'), CAST(TO_TIMESTAMP_LTZ('2024-01-01 00:00:00') AS STRING);
-- program: codes_of_texts
SELECT HEX('abc'), HEX(255), BIN(5), BIN(-1), TO_BASE64(''), ASCII('é'), CHR(65), UNHEX('4D'), CONV('ff', 16, 10), CONV('-1', 10, 16);
-- program: groups_of_nan_and_zero
SELECT d, COUNT(*) FROM (SELECT d FROM nums UNION ALL SELECT CAST(0.0 AS DOUBLE)) GROUP BY d;
-- program: null_joins_nothing
SELECT a.i, b.i FROM nums a LEFT JOIN nums b ON a.l = b.l;
-- program: not_in_with_null
SELECT a.i FROM nums a WHERE a.l NOT IN (SELECT l FROM nums);
-- program: correlated_scalars
-- differs: a correlated query with an aggregate may use any comparison; Flink plans only equality
SELECT i, (SELECT COUNT(*) FROM nums b WHERE b.i < a.i), (SELECT MAX(s) FROM nums b WHERE b.i = a.i) FROM nums a;
-- program: rollup_and_grouping
SELECT bidder, item, SUM(price) FROM bids WHERE id < 12 GROUP BY ROLLUP (bidder, item) HAVING GROUPING(item) = 1;
-- program: cube_in_windows
SELECT window_start, bidder, SUM(price) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) WHERE id < 20 GROUP BY window_start, window_end, CUBE (bidder);
-- program: hop_with_offset
SELECT window_start, window_end, window_time, id FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '30' SECONDS, INTERVAL '1' MINUTE, INTERVAL '10' SECONDS)) WHERE id < 3;
-- program: window_top_two
SELECT * FROM (SELECT window_start, window_end, item, price, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC, id) AS r FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) WHERE r <= 2;
-- program: parts_of_intervals
SELECT EXTRACT(DAY FROM INTERVAL '49' HOUR), EXTRACT(HOUR FROM INTERVAL '1 02:03:04.5' DAY TO SECOND), EXTRACT(YEAR FROM INTERVAL '30' MONTH), CAST(INTERVAL '1' DAY AS BIGINT) FROM nums;
-- program: timestampadd
SELECT ts, TIMESTAMPADD(MONTH, 1, ts), TIMESTAMPADD(SECOND, -90, ts), TIMESTAMPADD(DAY, id, ts), (ts - INTERVAL '1' HOUR) < ts FROM bids WHERE id < 2;
-- program: parts_of_times
SELECT CEIL(ts TO DAY), FLOOR(ts TO MINUTE), FLOOR(ts TO YEAR), YEAR(ts), QUARTER(ts), WEEK(ts), DAYOFYEAR(ts), DAYOFMONTH(ts), DAYOFWEEK(ts), HOUR(ts), MINUTE(ts), SECOND(ts) FROM bids WHERE id < 2;
-- program: lengths_of_texts
SELECT CAST(s AS CHAR(2)), CAST(s AS VARCHAR(2)), CAST(s AS BYTES), CAST('  x' AS CHAR(5)) || '|', 'a' = 'a ', CAST('a' AS CHAR(3)) = 'a', CHAR_LENGTH(CAST('a' AS CHAR(3))) FROM nums;
-- program: distinct_of_an_expression
SELECT DISTINCT item, price > 10 FROM bids WHERE id < 12;
-- program: over_of_aggregates (batch)
SELECT item, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM bids GROUP BY item;
-- program: order_by_an_expression (batch)
SELECT id, price FROM bids ORDER BY MOD(price, 5) DESC, id ASC FETCH FIRST 4 ROWS ONLY;
-- program: limit_in_a_query (batch)
SELECT id FROM (SELECT id, price FROM bids ORDER BY price, id LIMIT 5) WHERE price > 1 ORDER BY id DESC;
-- program: with_names_of_columns
WITH a AS (SELECT id, price FROM bids WHERE id < 5), b (x, y) AS (SELECT id, price * 2 FROM a WHERE id > 2) SELECT a.id, b.y FROM a LEFT JOIN b ON a.id = b.x;
-- program: natural_join
SELECT * FROM (VALUES (1, 'a')) AS t (x, y) NATURAL JOIN (VALUES (1, 'b'), (3, 'c')) AS u (x, z);
-- program: like_but_constraints
CREATE TABLE base (a INT NOT NULL, b AS a + 1, c STRING METADATA VIRTUAL, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'blackhole');
CREATE TABLE other (d INT) LIKE base (INCLUDING ALL EXCLUDING CONSTRAINTS EXCLUDING METADATA);
DESCRIBE other;
-- program: like_overwriting
CREATE TABLE base (a INT NOT NULL, b AS a + 1, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'blackhole');
CREATE TABLE other (b AS a + 2) LIKE base (OVERWRITING GENERATED);
DESCRIBE other;
-- program: like_overwriting_options
CREATE TABLE base (a INT) WITH ('connector' = 'datagen');
CREATE TABLE other WITH ('connector' = 'print') LIKE base (OVERWRITING OPTIONS);
SHOW CREATE TABLE other;
-- program: like_with_options_twice
CREATE TABLE base (a INT) WITH ('connector' = 'datagen');
CREATE TABLE other WITH ('connector' = 'print') LIKE base (INCLUDING OPTIONS);
-- program: view_of_a_view
CREATE TEMPORARY VIEW v AS SELECT id, price FROM bids;
CREATE VIEW w AS SELECT * FROM v WHERE id < 2;
SELECT * FROM w;
-- program: changed_view
CREATE VIEW v AS SELECT id FROM bids;
ALTER VIEW v RENAME TO w;
ALTER VIEW w AS SELECT id + 1 AS id FROM bids WHERE id < 1;
SELECT * FROM w;
-- program: view_with_a_name_twice
CREATE VIEW v AS SELECT id, id FROM bids;
-- program: view_of_other_width
CREATE VIEW v (a, b) AS SELECT id FROM bids;
-- program: unnest_of_null
SELECT t.x, e FROM (VALUES (1, ARRAY['p', 'q']), (2, CAST(NULL AS ARRAY<STRING>))) AS t (x, a) LEFT JOIN UNNEST(a) AS u (e) ON TRUE;
-- program: unnest_of_rows
SELECT t.x, e.f, e.g FROM (VALUES (1, ARRAY[ROW(1, 'a'), ROW(2, 'b')])) AS t (x, a) CROSS JOIN UNNEST(a) AS e (f, g);
-- program: union_of_a_limited_query
SELECT id, price FROM bids /*+ OPTIONS('csv.ignore-parse-errors' = 'true') */ WHERE id BETWEEN 3 AND 4 UNION ALL (SELECT 1, 2 LIMIT 1);
-- program: first_and_last
SELECT item, FIRST_VALUE(price), LAST_VALUE(bidder), LISTAGG(CAST(price AS STRING), '+') FROM bids WHERE id < 8 GROUP BY item;
-- program: greater_than_all
SELECT id FROM bids WHERE price > ALL (SELECT price FROM bids WHERE id < 5) AND id < 40;
-- program: equal_to_some
SELECT id FROM bids WHERE price = SOME (SELECT price FROM bids WHERE id < 3);
-- program: cumulate_of_no_multiple
SELECT window_start, window_end, COUNT(*) FROM TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '40' SECONDS, INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- program: group_window_properties
SELECT TUMBLE_START(ts, INTERVAL '1' MINUTE), TUMBLE_END(ts, INTERVAL '1' MINUTE), TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE), item, COUNT(*) FROM bids GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE), item HAVING COUNT(*) > 1;
-- program: qualify
SELECT id FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) = 1;
-- program: points_in_time_as_timestamps
SELECT CAST('2024-01-01 12:00:00' AS TIMESTAMP_LTZ(3)) = CAST('2024-01-01 12:00:00' AS TIMESTAMP_LTZ(3)), CAST(CAST('2024-01-01 12:00:00' AS TIMESTAMP_LTZ(3)) AS TIMESTAMP(3)), CAST(CAST('2024-01-01 12:00:00' AS TIMESTAMP_LTZ(3)) AS DATE);
-- program: times_and_intervals
SELECT TIMESTAMP '2024-03-31 12:00:00' + INTERVAL '-1' MONTH, DATE '2024-01-30' + INTERVAL '1' MONTH, TIMESTAMP '2024-01-01 00:00:00' - INTERVAL '0.001' SECOND, DATE '2024-01-01' + INTERVAL '36' HOUR, TIMESTAMP '2024-01-01 00:00:00' + 2 * INTERVAL '1' DAY;
-- program: full_join_using
SELECT * FROM (VALUES (1, 'a'), (2, CAST(NULL AS STRING))) AS t (x, y) FULL JOIN (VALUES (2, 'b'), (3, 'c')) AS u (x, z) USING (x);
-- program: empty_texts
SELECT LOCATE('', s, 2), LOCATE('c', s, 0), LOCATE('c', s, -4), POSITION('' IN s), REPLACE(s, '', 'x'), REPLACE('', '', 'x'), REGEXP(s, ''), REGEXP_REPLACE(s, '', '-'), SPLIT_INDEX('a b', '', 1), SPLIT_INDEX(s, '', 0), TRIM('' FROM s), LPAD(s, -1, 'x'), LPAD(s, 5, '') FROM nums;
-- program: nothing_to_split
SELECT SPLIT_INDEX('', ',', 0), SPLIT_INDEX(s, 'b', -1), SPLIT_INDEX('a,,b', ',', 1), SPLIT_INDEX(',', ',', 1) FROM nums;
-- program: view_with_a_name_of_two_tables
CREATE VIEW v AS SELECT a.id, b.id FROM bids AS a JOIN bids AS b ON a.id = b.id;
-- program: view_with_an_alias_twice
CREATE VIEW v AS SELECT id AS x, price AS x FROM bids;
-- program: view_with_a_star_and_its_column
-- differs: a column from * gets a number after its name, as in a query; Flink refuses it
CREATE VIEW v AS SELECT *, id FROM bids;
SELECT id0 FROM v WHERE id < 2;
-- program: overlay_of_no_characters
-- differs: nothing is replaced, as documented; Flink drops the rest of the text
SELECT OVERLAY('abcdef' PLACING 'X' FROM 2 FOR 0), OVERLAY(s PLACING '' FROM 2) FROM nums;
-- program: rows_of_an_interval
-- differs: a bound of ROWS is a number; Flink uses the milliseconds of an interval as the number
SELECT id, COUNT(*) OVER (ORDER BY ts ROWS BETWEEN INTERVAL '0.001' SECOND PRECEDING AND CURRENT ROW) FROM bids WHERE id < 4;
-- program: null_without_a_type
-- differs: NULL gets its type from its context; Flink requires a CAST
SELECT i + NULL, s LIKE NULL, GREATEST(i, NULL) FROM nums WHERE i = 1;
-- program: range_by_a_number_over_time
SELECT id, COUNT(*) OVER (ORDER BY ts RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) FROM bids;
-- program: row_number_without_over
SELECT id, ROW_NUMBER() FROM bids;
-- program: less_than_a_second
SELECT TIMESTAMP '2024-01-01 00:00:00' - INTERVAL '0.001' SECOND, TIMESTAMP '2024-01-01 00:00:00' + INTERVAL '1.5' SECOND, TIMESTAMP '2024-01-01 00:00:00.000' - INTERVAL '0.001' SECOND FROM nums;
-- program: decimals_in_casts
SELECT CAST(1.005 AS DECIMAL(10,2)), CAST(-1.005 AS DECIMAL(10,2)), CAST(2.5 AS INT), CAST(-2.5 AS INT), CAST(300 AS TINYINT), CAST(70000 AS SMALLINT), CAST(CAST(1e20 AS DOUBLE) AS INT);
-- program: decimals_and_their_scale
SELECT 1.0/3, CAST(10 AS DECIMAL(38,10))/CAST(3 AS DECIMAL(38,10)), CAST(1.1 AS DECIMAL(38,18)) * CAST(1.1 AS DECIMAL(38,18)), CAST(1.1 AS DECIMAL(38,18)) + CAST(1.1 AS DECIMAL(10,2)), MOD(CAST(-7.5 AS DECIMAL(5,2)), 2);
-- program: rounding_at_the_half
SELECT ROUND(2.5), ROUND(-2.5), ROUND(1234.5, -2), ROUND(5, -1), TRUNCATE(-2.999, 1), TRUNCATE(1234.5, -2), CEIL(-1.5), FLOOR(-1.5);
-- program: intersect_all_and_except_all
SELECT * FROM ((SELECT * FROM (VALUES (1),(1),(2)) AS t (a)) INTERSECT ALL SELECT * FROM (VALUES (1),(1),(1),(3)) AS u (b)) EXCEPT ALL SELECT 1;
-- program: union_before_intersect
SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'yyy' INTERSECT SELECT 2, 'yyy';
-- program: negative_offset_of_hop
SELECT window_start, window_end, COUNT(*) FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '15' SECONDS, INTERVAL '1' MINUTE, INTERVAL '-5' SECONDS)) GROUP BY window_start, window_end;
-- program: lag_and_lead_backwards (batch)
SELECT id, LAG(price, -1) OVER (ORDER BY ts), LEAD(price, -1) OVER (ORDER BY ts), LEAD(price, 2, 0) OVER (ORDER BY ts), LAG(price, 0) OVER (ORDER BY ts) FROM bids WHERE id < 6;
-- program: frames_ahead (batch)
SELECT id, COUNT(*) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING), SUM(price) OVER (ORDER BY price RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) FROM bids WHERE id < 8;
