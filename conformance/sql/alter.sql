CREATE TABLE t (id BIGINT, v STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '3');

-- program: rename
ALTER TABLE t RENAME TO u;
SHOW TABLES;
-- program: set_and_reset
ALTER TABLE t SET ('number-of-rows' = '0', 'fields.v.length' = '4');
SELECT COUNT(*) FROM t;
ALTER TABLE t RESET ('fields.v.length');
SHOW TABLES;
-- program: add_columns
ALTER TABLE t ADD (w INT COMMENT 'new' FIRST, x AS id * 2, z STRING AFTER id);
DESCRIBE t;
-- program: modify
ALTER TABLE t MODIFY (v STRING NOT NULL FIRST);
DESCRIBE t;
-- program: drop_column
ALTER TABLE t DROP v;
DESCRIBE t;
-- program: rename_column
ALTER TABLE t RENAME v TO word;
DESCRIBE t;
-- program: add_key_and_watermark
ALTER TABLE t ADD (ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
ALTER TABLE t MODIFY (id BIGINT NOT NULL);
ALTER TABLE t ADD PRIMARY KEY (id) NOT ENFORCED;
DESCRIBE t;
ALTER TABLE t DROP PRIMARY KEY;
ALTER TABLE t DROP WATERMARK;
DESCRIBE t;
-- program: no_such_table
ALTER TABLE nowhere RENAME TO u;
-- program: if_exists
ALTER TABLE IF EXISTS nowhere RENAME TO u;
SHOW TABLES;
-- program: view
CREATE VIEW v AS SELECT id FROM t;
ALTER VIEW v RENAME TO w;
ALTER VIEW w AS SELECT 7 AS seven;
SELECT * FROM w;
-- program: database
ALTER DATABASE default_database SET ('owner' = 'ada');
SHOW DATABASES;
-- program: drop_what_another_column_needs
ALTER TABLE t ADD x AS id * 2;
ALTER TABLE t DROP id;
