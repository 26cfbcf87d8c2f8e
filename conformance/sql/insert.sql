CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');

-- program: select
CREATE TABLE sink (id BIGINT, customer STRING) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink SELECT id, customer FROM orders WHERE amount > 7;
SELECT * FROM sink;
-- program: values
CREATE TABLE sink (id BIGINT, v STRING) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'csv');
INSERT INTO sink VALUES (1, 'a'), (2, 'b;,"c');
INSERT INTO sink VALUES (3, 'd');
SELECT * FROM sink;
-- program: named_columns
CREATE TABLE sink (a BIGINT, b STRING, c INT) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink (c, a) SELECT amount, id FROM orders WHERE id < 3;
SELECT * FROM sink;
-- program: partitions
CREATE TABLE sink (id BIGINT, product STRING) PARTITIONED BY (product) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink SELECT id, product FROM orders;
SELECT product, COUNT(*) FROM sink GROUP BY product;
-- program: static_partition
CREATE TABLE sink (id BIGINT, product STRING) PARTITIONED BY (product) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink PARTITION (product = 'kiwi') SELECT id FROM orders WHERE id < 3;
SELECT * FROM sink;
-- program: column_count
CREATE TABLE sink (a BIGINT, b STRING) WITH ('connector' = 'blackhole');
INSERT INTO sink SELECT id FROM orders;
-- program: types_do_not_fit
CREATE TABLE sink (a BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sink SELECT customer FROM orders;
-- program: types_are_widened
CREATE TABLE sink (a BIGINT, b DOUBLE) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink SELECT amount, price FROM orders WHERE id < 4;
SELECT * FROM sink;
-- program: not_null_is_enforced
CREATE TABLE sink (a INT NOT NULL) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink SELECT CAST(NULL AS INT) FROM orders;
-- program: not_null_is_dropped
-- set: table.exec.sink.not-null-enforcer = DROP
CREATE TABLE sink (a INT NOT NULL) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink SELECT x FROM (VALUES (1), (CAST(NULL AS INT))) AS t (x);
SELECT * FROM sink;
-- program: updates_into_an_append_only_sink
CREATE TABLE sink (customer STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink SELECT customer, COUNT(*) FROM orders GROUP BY customer;
-- program: statement_set
CREATE TABLE a (id BIGINT) WITH ('connector' = 'filesystem', 'path' = '${directory}/a', 'format' = 'json');
CREATE TABLE b (customer STRING) WITH ('connector' = 'filesystem', 'path' = '${directory}/b', 'format' = 'json');
EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT id FROM orders WHERE id < 3; INSERT INTO b SELECT customer FROM orders WHERE id < 4; END;
SELECT * FROM a;
SELECT * FROM b;
-- program: overwrite (batch)
CREATE TABLE sink (id BIGINT) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT INTO sink VALUES (1), (2);
INSERT OVERWRITE sink VALUES (3);
SELECT * FROM sink;
-- program: overwrite_in_streaming
CREATE TABLE sink (id BIGINT) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'json');
INSERT OVERWRITE sink VALUES (3);
-- program: into_a_view
CREATE VIEW v AS SELECT 1 AS x;
INSERT INTO v VALUES (1);
-- program: batch_aggregate (batch)
CREATE TABLE sink (customer STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '${directory}/sink', 'format' = 'csv');
INSERT INTO sink SELECT customer, COUNT(*) FROM orders GROUP BY customer;
SELECT * FROM sink;
