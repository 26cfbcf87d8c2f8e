-- program: computed_column
CREATE TABLE t (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2), total AS amount * price)
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
SELECT id, total FROM t WHERE total > 50;
-- program: computed_column_of_a_computed_column
CREATE TABLE t (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2), who AS UPPER(customer), greeting AS 'hi ' || UPPER(customer))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
SELECT DISTINCT greeting, who FROM t;
-- program: primary_key_must_be_not_enforced
CREATE TABLE t (id BIGINT PRIMARY KEY) WITH ('connector' = 'datagen');
-- program: primary_key
CREATE TABLE t (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'datagen');
DESCRIBE t;
-- program: two_tables_of_one_name
CREATE TABLE t (id BIGINT) WITH ('connector' = 'datagen');
CREATE TABLE t (id BIGINT) WITH ('connector' = 'datagen');
-- program: if_not_exists
CREATE TABLE t (id BIGINT) WITH ('connector' = 'datagen');
CREATE TABLE IF NOT EXISTS t (other BIGINT) WITH ('connector' = 'datagen');
DESCRIBE t;
-- program: like_another
CREATE TABLE base (id BIGINT, v STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
CREATE TABLE t (more AS id + 1) WITH ('number-of-rows' = '3') LIKE base;
DESCRIBE t;
-- program: like_excluding_options
CREATE TABLE base (id BIGINT, v STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
CREATE TABLE t WITH ('connector' = 'print') LIKE base (EXCLUDING OPTIONS);
DESCRIBE t;
-- program: watermark
CREATE TABLE t (id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen');
DESCRIBE t;
-- program: watermark_on_text_is_refused
CREATE TABLE t (id BIGINT, ts STRING, WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
-- program: watermark_of_a_computed_column
CREATE TABLE t (id BIGINT, at BIGINT, ts AS TO_TIMESTAMP_LTZ(at, 3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
DESCRIBE t;
-- program: types
CREATE TABLE t (a TINYINT, b SMALLINT NOT NULL, c CHAR(3), d VARCHAR(7), e DECIMAL(12, 3), f TIMESTAMP(6), g TIMESTAMP_LTZ(3), h TIME, i DATE, j ARRAY<INT NOT NULL>, k MAP<STRING, ROW<x INT, y DOUBLE>>, l BYTES, m VARBINARY(9), n FLOAT,
  o MULTISET<STRING>, p BOOLEAN, r STRING COMMENT 'a text') WITH ('connector' = 'blackhole');
DESCRIBE t;
-- program: types_without_a_length
CREATE TABLE t (a VARCHAR, b VARBINARY, c CHAR, d DECIMAL, e TIMESTAMP, f BINARY, g TIME, h TIMESTAMP_LTZ) WITH ('connector' = 'blackhole');
DESCRIBE t;
-- program: processing_time
CREATE TABLE t (a INT, p AS PROCTIME()) WITH ('connector' = 'datagen');
DESCRIBE t;
-- program: unknown_type
CREATE TABLE t (a WHATEVER) WITH ('connector' = 'blackhole');
-- program: unknown_connector
CREATE TABLE t (a INT) WITH ('connector' = 'no-such-thing');
SELECT * FROM t;
-- program: unknown_option
CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-rowz' = '1');
SELECT * FROM t;
-- program: missing_option
CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv');
SELECT * FROM t;
-- program: create_table_as
CREATE TABLE copy WITH ('connector' = 'filesystem', 'path' = '${directory}/copy', 'format' = 'csv') AS SELECT x, x * 2 AS twice FROM (VALUES (1), (2)) AS t (x);
SELECT * FROM copy;
-- program: views
CREATE VIEW v AS SELECT 1 AS one, 'x' AS word;
CREATE VIEW w (a, b) AS SELECT one + 1, word || 'y' FROM v;
SELECT * FROM w;
DESCRIBE w;
-- program: temporary_view_hides_a_view
CREATE VIEW v AS SELECT 1 AS n;
CREATE TEMPORARY VIEW v AS SELECT 2 AS n;
SELECT * FROM v;
DROP TEMPORARY VIEW v;
SELECT * FROM v;
-- program: view_of_nothing
CREATE VIEW v AS SELECT * FROM nowhere;
-- program: databases
CREATE DATABASE shop;
USE shop;
CREATE TABLE t (id BIGINT) WITH ('connector' = 'datagen');
SHOW TABLES;
SHOW CURRENT DATABASE;
SHOW DATABASES;
DESCRIBE default_catalog.shop.t;
-- program: condition_that_is_never_true
CREATE TABLE endless (id BIGINT) WITH ('connector' = 'datagen');
SELECT COUNT(*) FROM endless WHERE FALSE;
-- program: catalogs
CREATE CATALOG mine WITH ('type' = 'generic_in_memory');
USE CATALOG mine;
SHOW CURRENT CATALOG;
SHOW CATALOGS;
SHOW DATABASES;
-- program: metadata_column
CREATE TABLE t (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2), `file.name` STRING NOT NULL METADATA)
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
SELECT DISTINCT `file.name` FROM t;
-- program: duplicate_column
CREATE TABLE t (a INT, a STRING) WITH ('connector' = 'datagen');
-- program: distributed_table
CREATE TABLE t (a INT, b STRING) COMMENT 'a table' PARTITIONED BY (b) WITH ('connector' = 'filesystem', 'path' = '${directory}', 'format' = 'json');
DESCRIBE t;
