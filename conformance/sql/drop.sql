CREATE TABLE t (id BIGINT) WITH ('connector' = 'datagen');

-- program: table
DROP TABLE t;
SHOW TABLES;
-- program: no_such_table
DROP TABLE nowhere;
-- program: if_exists
DROP TABLE IF EXISTS nowhere;
SHOW TABLES;
-- program: temporary_table_first
CREATE TEMPORARY TABLE t (other STRING) WITH ('connector' = 'datagen');
DROP TABLE t;
DROP TEMPORARY TABLE t;
DESCRIBE t;
-- program: view
CREATE VIEW v AS SELECT 1 AS x;
DROP VIEW v;
SHOW VIEWS;
-- program: table_as_view
DROP VIEW t;
-- program: database
CREATE DATABASE d;
DROP DATABASE d;
SHOW DATABASES;
-- program: database_that_is_not_empty
CREATE DATABASE d;
CREATE TABLE d.t (id BIGINT) WITH ('connector' = 'datagen');
DROP DATABASE d RESTRICT;
-- program: database_with_all_in_it
CREATE DATABASE d;
CREATE TABLE d.t (id BIGINT) WITH ('connector' = 'datagen');
DROP DATABASE d CASCADE;
SHOW DATABASES;
-- program: catalog
CREATE CATALOG c WITH ('type' = 'generic_in_memory');
DROP CATALOG c;
SHOW CATALOGS;
-- program: current_catalog
DROP CATALOG default_catalog;
