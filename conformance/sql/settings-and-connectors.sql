CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');

-- program: set
-- set: table.local-time-zone = Asia/Shanghai
SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING);
-- program: legacy_cast
-- set: table.exec.legacy-cast-behaviour = enabled
SELECT CAST(s AS INT) FROM (VALUES ('x'), ('7'), (CAST(NULL AS STRING))) AS t (s);
-- program: windows_in_a_zone
-- set: table.local-time-zone = Asia/Shanghai
CREATE TABLE clicks (at BIGINT, ts AS TO_TIMESTAMP_LTZ(at * 3600000, 3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'datagen', 'fields.at.kind' = 'sequence', 'fields.at.start' = '1', 'fields.at.end' = '60');
SELECT CAST(window_start AS STRING), CAST(window_end AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY window_start, window_end;
-- program: windows_over_a_change_of_the_clock
-- set: table.local-time-zone = America/Los_Angeles
CREATE TABLE clicks (at BIGINT, ts AS TO_TIMESTAMP_LTZ(1615680000 + at * 1800, 0), WATERMARK FOR ts AS ts)
WITH ('connector' = 'datagen', 'fields.at.kind' = 'sequence', 'fields.at.start' = '1', 'fields.at.end' = '40');
SELECT CAST(window_start AS STRING), CAST(window_end AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '2' HOUR)) GROUP BY window_start, window_end;
-- program: sequences
CREATE TABLE s (i INT, x AS i * i) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', 'fields.i.start' = '5', 'fields.i.end' = '9');
SELECT * FROM s;
-- program: random_rows
CREATE TABLE s (i INT, w STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '20', 'fields.i.min' = '3', 'fields.i.max' = '4', 'fields.w.length' = '5');
SELECT COUNT(*), MIN(i) >= 3, MAX(i) <= 4, MAX(CHAR_LENGTH(w)) FROM s;
-- program: explain_of_nonsense
EXPLAIN SELECT nothing FROM orders;
-- program: use_what_is_not_there
USE nowhere;
-- program: syntax_error
SELEC 1;
-- program: help_in_sql
SHOW FUNCTIONS LIKE 'concat%';
-- program: unload_module
-- differs: the only module is core, and it cannot be unloaded
UNLOAD MODULE core;
SHOW MODULES;
-- program: analyze_in_streaming
ANALYZE TABLE orders COMPUTE STATISTICS;
-- program: truncate_in_streaming
TRUNCATE TABLE orders;
-- program: delete_in_streaming
DELETE FROM orders WHERE id = 1;
-- program: csv_options
CREATE TABLE t (line STRING) WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv', 'csv.field-delimiter' = ';');
SELECT COUNT(*), MAX(line) FROM t;
-- program: raw_format
CREATE TABLE t (line STRING) WITH ('connector' = 'filesystem', 'path' = '${data}/customers.csv', 'format' = 'raw');
SELECT * FROM t;
-- program: json_with_a_missing_field
CREATE TABLE t (id INT, missing STRING) WITH ('connector' = 'filesystem', 'path' = '${data}/people.json', 'format' = 'json');
SELECT * FROM t;
-- program: json_that_fails_on_a_missing_field
CREATE TABLE t (id INT, missing STRING) WITH ('connector' = 'filesystem', 'path' = '${data}/people.json', 'format' = 'json', 'json.fail-on-missing-field' = 'true');
SELECT * FROM t;
-- program: json_with_wrong_types
CREATE TABLE t (id INT, name INT) WITH ('connector' = 'filesystem', 'path' = '${data}/people.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
SELECT * FROM t;
