CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');

-- program: one
WITH big AS (SELECT * FROM orders WHERE amount > 5) SELECT customer, COUNT(*) FROM big GROUP BY customer;
-- program: two_and_one_uses_the_other
WITH big AS (SELECT * FROM orders WHERE amount > 5), totals AS (SELECT customer, SUM(amount) AS s FROM big GROUP BY customer)
SELECT * FROM totals WHERE s > 10;
-- program: twice_the_same
WITH o AS (SELECT id, amount FROM orders WHERE id < 6) SELECT a.id, b.id FROM o a JOIN o b ON a.amount = b.amount;
-- program: column_names
WITH o (number, how_many) AS (SELECT id, amount FROM orders) SELECT number FROM o WHERE how_many = 9;
-- program: hides_a_table
WITH orders AS (SELECT 1 AS id) SELECT * FROM orders;
