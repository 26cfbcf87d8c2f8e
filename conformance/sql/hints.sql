CREATE TABLE orders (id BIGINT, customer STRING, product STRING, amount INT, price DECIMAL(10, 2))
WITH ('connector' = 'filesystem', 'path' = '${data}/orders.csv', 'format' = 'csv');
CREATE TABLE bids (id INT, bidder STRING, item STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/bids.csv', 'format' = 'csv');

-- program: options
SELECT COUNT(*) FROM orders /*+ OPTIONS('path' = '${data}/orders.csv') */;
-- program: unknown_option
SELECT COUNT(*) FROM orders /*+ OPTIONS('no.such' = '1') */;
-- program: other_file
SELECT * FROM orders /*+ OPTIONS('path' = '${data}/orders.csv', 'csv.ignore-parse-errors' = 'true') */ WHERE id < 3;
-- program: state_ttl
SELECT /*+ STATE_TTL('o' = '1 d') */ customer, COUNT(*) FROM orders AS o GROUP BY customer;
-- program: state_ttl_of_a_join
SELECT /*+ STATE_TTL('a' = '1 d', 'b' = '2 d') */ a.id FROM orders AS a JOIN orders AS b ON a.id = b.amount;
-- program: broadcast_in_batch (batch)
SELECT /*+ BROADCAST(b) */ a.id FROM orders AS a JOIN orders AS b ON a.id = b.amount;
-- program: unknown_hint
SELECT /*+ NO_SUCH_HINT(a) */ a.id FROM orders AS a WHERE a.id = 1;
