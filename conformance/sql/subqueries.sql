CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
CREATE TABLE customers (name STRING, city STRING, age INT)
WITH ('connector' = 'filesystem', 'path' = '${data}/customers.csv', 'format' = 'csv', 'csv.null-literal' = '');
CREATE VIEW l AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (2, 'c'), (CAST(NULL AS INT), 'd')) AS t (k, x);
CREATE VIEW r AS SELECT * FROM (VALUES (2, 'e'), (2, 'f'), (3, 'g'), (CAST(NULL AS INT), 'h')) AS t (k, y);

-- program: inner_with_nulls_and_doubles
SELECT l.k, x, y FROM l JOIN r ON l.k = r.k;
-- program: left_with_nulls_and_doubles
SELECT l.k, x, y FROM l LEFT JOIN r ON l.k = r.k;
-- program: right_with_nulls_and_doubles
SELECT l.k, r.k, x, y FROM l RIGHT JOIN r ON l.k = r.k;
-- program: full_with_nulls_and_doubles
SELECT l.k, r.k, x, y FROM l FULL JOIN r ON l.k = r.k;
-- program: full_in_batch (batch)
SELECT l.k, r.k, x, y FROM l FULL JOIN r ON l.k = r.k;
-- program: left_with_a_condition_on_the_left
SELECT l.k, x, y FROM l LEFT JOIN r ON l.k = r.k AND x = 'b';
-- program: left_with_a_condition_on_the_right
SELECT l.k, x, y FROM l LEFT JOIN r ON l.k = r.k AND y > 'e';
-- program: left_with_a_filter_above
SELECT l.k, x, y FROM l LEFT JOIN r ON l.k = r.k WHERE y IS NULL;
-- program: full_with_not_distinct
SELECT l.k, x, y FROM l FULL JOIN r ON l.k IS NOT DISTINCT FROM r.k;
-- program: full_using
SELECT k, x, y FROM l FULL JOIN r USING (k);
-- program: natural_left
SELECT * FROM l NATURAL LEFT JOIN r;
-- program: join_on_two_keys
SELECT a.x, b.x FROM l a JOIN l b ON a.k = b.k AND a.x <> b.x;
-- program: join_on_an_expression
SELECT x, y FROM l JOIN r ON l.k + 1 = r.k;
-- program: join_of_other_types
SELECT x, y FROM l JOIN (SELECT CAST(k AS BIGINT) AS k, y FROM r) AS r ON l.k = r.k;
-- program: join_on_true
SELECT x, y FROM l JOIN r ON TRUE WHERE x = 'a';
-- program: left_join_on_false
SELECT x, y FROM l LEFT JOIN r ON FALSE;
-- program: in_with_nulls
SELECT x FROM l WHERE k IN (SELECT k FROM r);
-- program: not_in_with_nulls
SELECT x FROM l WHERE k NOT IN (SELECT k FROM r);
-- program: not_in_without_nulls
SELECT x FROM l WHERE k NOT IN (SELECT k FROM r WHERE k IS NOT NULL);
-- program: not_in_nothing
SELECT x FROM l WHERE k NOT IN (SELECT k FROM r WHERE k > 9);
-- program: in_of_two_columns
SELECT x FROM l WHERE (k, x) IN (SELECT k, CASE y WHEN 'e' THEN 'b' ELSE y END FROM r);
-- program: in_as_a_value
SELECT x, k IN (SELECT k FROM r WHERE k IS NOT NULL) FROM l;
-- program: exists_of_nothing
SELECT x FROM l WHERE EXISTS (SELECT * FROM r WHERE k > 9);
-- program: exists_uncorrelated
SELECT x FROM l WHERE EXISTS (SELECT * FROM r WHERE k = 3);
-- program: exists_with_two_conditions
-- differs: Flink joins only by equality; here any condition may refer to the outer row
SELECT x FROM l WHERE EXISTS (SELECT * FROM r WHERE r.k = l.k AND r.y > l.x);
-- program: not_exists_with_an_unequal_condition
-- differs: Flink joins only by equality; here any condition may refer to the outer row
SELECT x FROM l WHERE NOT EXISTS (SELECT * FROM r WHERE r.k > l.k);
-- program: exists_or_a_condition
SELECT x FROM l WHERE k = 1 OR EXISTS (SELECT * FROM r WHERE r.k = 3);
-- program: correlated_in
SELECT name FROM customers c WHERE 'fig' IN (SELECT product FROM orders o WHERE o.customer = c.name);
-- program: correlated_count_of_nothing
SELECT name, (SELECT COUNT(*) FROM orders o WHERE o.customer = c.name) FROM customers c;
-- program: correlated_maximum_in_where
SELECT id FROM orders o WHERE price = (SELECT MAX(price) FROM orders i WHERE i.product = o.product);
-- program: scalar_of_no_row
SELECT x, (SELECT MAX(k) FROM r WHERE k > 9) FROM l;
-- program: scalar_of_many_rows
SELECT x, (SELECT k FROM r) FROM l;
-- program: scalar_in_having
SELECT product, SUM(amount) FROM orders GROUP BY product HAVING SUM(amount) > (SELECT AVG(amount) * 8 FROM orders);
-- program: scalar_in_an_expression
SELECT x, k * (SELECT COUNT(*) FROM r) FROM l;
-- program: nested_subqueries
SELECT name FROM customers WHERE name IN (SELECT customer FROM orders WHERE product IN (SELECT product FROM orders WHERE price > 18));
-- program: subquery_of_two_columns_is_refused
SELECT x FROM l WHERE k IN (SELECT k, y FROM r);
-- program: scalar_of_two_columns_is_refused
SELECT (SELECT k, y FROM r) FROM l;
-- program: semi_join_of_an_aggregate
SELECT product, n FROM (SELECT product, COUNT(*) AS n FROM orders GROUP BY product) WHERE n IN (SELECT amount FROM orders);
-- program: anti_join_of_an_aggregate
SELECT customer FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) WHERE n NOT IN (SELECT amount FROM orders WHERE amount > 5);
-- program: ambiguous_column_is_refused
SELECT k FROM l JOIN r ON l.k = r.k;
-- program: join_without_a_condition_is_refused
SELECT x FROM l JOIN r;
-- program: lateral_subquery
-- differs: Flink loses rows for which the lateral query counts nothing; a query without GROUP BY always has one row
SELECT name, n FROM customers c, LATERAL (SELECT COUNT(*) AS n FROM orders o WHERE o.customer = c.name);
-- program: lateral_top_one
-- differs: Flink refuses ORDER BY and LIMIT in most lateral queries; here they select the first rows per outer row
SELECT name, id FROM customers c, LATERAL (SELECT id FROM orders o WHERE o.customer = c.name ORDER BY price DESC LIMIT 1);
-- program: three_outer_joins
SELECT l.x, r.y, c.city FROM l LEFT JOIN r ON l.k = r.k LEFT JOIN customers c ON c.age > l.k + 40;
