CREATE TABLE apples (id BIGINT NOT NULL, v STRING, n AS id + 1, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'datagen');
CREATE TABLE pears (id BIGINT) WITH ('connector' = 'print');
CREATE VIEW plums AS SELECT id FROM apples;

-- program: tables
SHOW TABLES;
-- program: tables_like
SHOW TABLES LIKE 'p%';
-- program: tables_not_like
SHOW TABLES FROM default_database NOT LIKE '%e%';
-- program: views
SHOW VIEWS;
-- program: columns
SHOW COLUMNS FROM apples;
-- program: columns_like
SHOW COLUMNS IN apples LIKE 'i%';
-- program: describe_view
DESCRIBE plums;
-- program: desc_extended
DESC EXTENDED pears;
-- program: current
SHOW CURRENT CATALOG;
SHOW CURRENT DATABASE;
-- program: databases_like
CREATE DATABASE other;
SHOW DATABASES LIKE 'o%';
-- program: user_functions
SHOW USER FUNCTIONS;
-- program: create_table
SHOW CREATE TABLE pears;
-- program: create_view
-- differs: the query is shown as it was written, not expanded
SHOW CREATE VIEW plums;
-- program: no_such_table
DESCRIBE nowhere;
-- program: modules
SHOW MODULES;
-- program: full_modules
SHOW FULL MODULES;
-- program: jobs_partitions_of_a_plain_table
SHOW PARTITIONS pears;
