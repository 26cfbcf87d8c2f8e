CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
CREATE TABLE customers (name STRING, city STRING, age INT)
WITH ('connector' = 'filesystem', 'path' = '${data}/customers.csv', 'format' = 'csv', 'csv.null-literal' = '');
CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');
CREATE TABLE shipments (id INT, bid INT, carrier STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/shipments.csv', 'format' = 'csv');
CREATE TABLE people (id INT, name STRING, tags ARRAY<STRING>, scores MAP<STRING, INT>,
  home ROW<street STRING, zip INT>)
WITH ('connector' = 'filesystem', 'path' = '${data}/people.json', 'format' = 'json');

-- program: inner
SELECT o.id, c.city FROM orders o JOIN customers c ON o.customer = c.name;
-- program: left_outer
SELECT o.id, c.age FROM orders o LEFT JOIN customers c ON o.customer = c.name;
-- program: right_outer
SELECT o.id, c.name FROM orders o RIGHT JOIN customers c ON o.customer = c.name AND o.amount > 6;
-- program: full_outer
SELECT o.id, c.name FROM orders o FULL OUTER JOIN customers c ON o.customer = c.name;
-- program: cross_join
SELECT c.name, n FROM customers c CROSS JOIN (VALUES (1), (2)) AS v (n);
-- program: comma_join
SELECT o.id, c.city FROM orders o, customers c WHERE o.customer = c.name AND o.amount < 3;
-- program: using
SELECT product, a, b FROM (SELECT product, COUNT(*) AS a FROM orders GROUP BY product) JOIN
  (SELECT product, MAX(price) AS b FROM orders WHERE amount > 8 GROUP BY product) USING (product);
-- program: natural
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS l (k, x) NATURAL JOIN (VALUES (1, 'c'), (3, 'd')) AS r (k, y);
-- program: three_tables
SELECT o.id, c.city, b.price FROM orders o JOIN customers c ON o.customer = c.name JOIN bids b ON b.id = o.amount;
-- program: self_join
SELECT a.id, b.id FROM orders a JOIN orders b ON a.customer = b.customer AND a.id < b.id WHERE a.amount = 9;
-- program: unequal_condition
SELECT a.name, b.name FROM customers a LEFT JOIN customers b ON a.age < b.age;
-- program: null_keys_do_not_join
SELECT l.k, r.k FROM (VALUES (1), (CAST(NULL AS INT))) AS l (k) JOIN (VALUES (1), (CAST(NULL AS INT))) AS r (k) ON l.k = r.k;
-- program: null_keys_with_is_not_distinct
SELECT l.k, r.k FROM (VALUES (1), (CAST(NULL AS INT))) AS l (k) JOIN (VALUES (1), (CAST(NULL AS INT))) AS r (k) ON l.k IS NOT DISTINCT FROM r.k;
-- program: of_aggregates
SELECT a.customer, n, m FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) a
LEFT JOIN (SELECT bidder, COUNT(*) AS m FROM bids GROUP BY bidder) b ON a.customer = b.bidder;
-- program: aggregate_of_a_join
SELECT c.city, SUM(o.amount) FROM orders o LEFT JOIN customers c ON o.customer = c.name GROUP BY c.city;
-- program: semi_in
SELECT id FROM orders WHERE customer IN (SELECT name FROM customers WHERE age > 30);
-- program: anti_not_in
SELECT id FROM orders WHERE customer NOT IN (SELECT name FROM customers WHERE age > 30);
-- program: not_in_with_null
SELECT id FROM orders WHERE amount NOT IN (SELECT age FROM customers);
-- program: exists_correlated
SELECT name FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer = c.name AND o.amount > 8);
-- program: not_exists
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.name);
-- program: scalar_subquery
SELECT id, amount FROM orders WHERE amount > (SELECT AVG(amount) FROM orders);
-- program: scalar_subquery_in_select
SELECT name, (SELECT COUNT(*) FROM orders) AS n FROM customers;
-- program: correlated_scalar_subquery
SELECT name, (SELECT SUM(o.amount) FROM orders o WHERE o.customer = c.name) FROM customers c;
-- program: some_and_all
SELECT name FROM customers WHERE age > ALL (SELECT amount FROM orders);
-- program: less_than_some
SELECT id FROM orders WHERE amount < SOME (SELECT age - 40 FROM customers);
-- program: not_some
SELECT id FROM orders WHERE NOT (amount < ANY (SELECT id FROM bids WHERE id > 3));
-- program: not_all
SELECT name FROM customers WHERE NOT (age > ALL (SELECT 7 * amount FROM orders));
-- program: all_of_nothing
-- differs: a comparison with ALL of no rows is TRUE, as in standard SQL
SELECT name FROM customers WHERE age > ALL (SELECT amount FROM orders WHERE amount > 100);
-- program: interval_join
SELECT b.id, s.id, s.carrier FROM bids b, shipments s WHERE b.id = s.bid AND s.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts + INTERVAL '1' HOUR;
-- program: interval_join_by_bidder
SELECT b.id, s.id FROM bids b JOIN shipments s ON b.bidder = s.carrier AND s.ts >= b.ts AND s.ts < b.ts + INTERVAL '10' SECOND;
-- program: interval_left_join
SELECT b.id, s.id FROM bids b LEFT JOIN shipments s ON b.bidder = s.carrier AND s.ts BETWEEN b.ts AND b.ts + INTERVAL '5' SECOND;
-- program: interval_full_join
SELECT b.id, s.id FROM bids b FULL JOIN shipments s ON b.bidder = s.carrier AND s.ts BETWEEN b.ts - INTERVAL '3' SECOND AND b.ts;
-- program: unnest_array
SELECT id, tag FROM people CROSS JOIN UNNEST(tags) AS t (tag);
-- program: unnest_array_left
SELECT id, tag FROM people LEFT JOIN UNNEST(tags) AS t (tag) ON TRUE;
-- program: unnest_map
SELECT id, k, v FROM people CROSS JOIN UNNEST(scores) AS t (k, v);
-- program: unnest_with_ordinality
SELECT id, tag, n FROM people CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t (tag, n);
-- program: unnest_rows
SELECT a, b FROM (VALUES (ARRAY[ROW(1, 'x'), ROW(2, 'y')])) AS v (l) CROSS JOIN UNNEST(l) AS t (a, b);
-- program: batch_outer (batch)
SELECT o.id, c.name FROM orders o FULL OUTER JOIN customers c ON o.customer = c.name;
-- program: batch_semi (batch)
SELECT id FROM orders WHERE customer IN (SELECT name FROM customers WHERE age > 30) AND EXISTS (SELECT 1 FROM bids);
-- program: on_types_that_do_not_fit
SELECT o.id FROM orders o JOIN customers c ON o.id = c.name;
-- program: ambiguous_column
SELECT id FROM orders o JOIN bids b ON o.amount = b.price;
