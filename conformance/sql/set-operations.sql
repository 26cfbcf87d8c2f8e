CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
CREATE VIEW t1 (s) AS VALUES ('c'), ('a'), ('b'), ('b'), ('c');
CREATE VIEW t2 (s) AS VALUES ('d'), ('e'), ('a'), ('b'), ('b');

-- program: union
(SELECT s FROM t1) UNION (SELECT s FROM t2);
-- program: union_all
(SELECT s FROM t1) UNION ALL (SELECT s FROM t2);
-- program: intersect
(SELECT s FROM t1) INTERSECT (SELECT s FROM t2);
-- program: intersect_all
(SELECT s FROM t1) INTERSECT ALL (SELECT s FROM t2);
-- program: except
(SELECT s FROM t1) EXCEPT (SELECT s FROM t2);
-- program: except_all
(SELECT s FROM t1) EXCEPT ALL (SELECT s FROM t2);
-- program: precedence
SELECT s FROM t1 UNION SELECT s FROM t2 INTERSECT SELECT 'b';
-- program: types_are_widened
SELECT 1 UNION ALL SELECT CAST(2.5 AS DECIMAL(3, 1));
-- program: column_counts_differ
SELECT 1, 2 UNION ALL SELECT 3;
-- program: over_aggregates
SELECT customer FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) WHERE n > 6
EXCEPT SELECT customer FROM orders WHERE price > 18;
-- program: in_batch (batch)
SELECT s FROM t1 INTERSECT ALL SELECT s FROM t2;
-- program: except_all_in_batch (batch)
SELECT s FROM t1 EXCEPT ALL SELECT s FROM t2;
-- program: nulls_are_equal
SELECT CAST(NULL AS INT) UNION SELECT CAST(NULL AS INT);
