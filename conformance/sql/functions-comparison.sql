CREATE TABLE people (id INT, name STRING, tags ARRAY<STRING>, scores MAP<STRING, INT>,
home ROW<street STRING, zip INT>)
WITH ('connector' = 'filesystem', 'path' = '${data}/people.json', 'format' = 'json');

-- program: numbers
SELECT a = b, a <> b, a > b, a >= b, a < b, a <= b
FROM (VALUES (1, 2), (2, 2), (3, CAST(NULL AS INT)), (CAST(NULL AS INT), CAST(NULL AS INT))) AS t (a, b);
-- program: nulls
SELECT a IS NULL, a IS NOT NULL, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b, a = NULL, NULL = NULL, a IN (b, 1), a NOT IN (b, 1),
  a BETWEEN b AND 3, a NOT BETWEEN b AND 3 FROM (VALUES (1, 2), (2, 2), (3, CAST(NULL AS INT)), (CAST(NULL AS INT), CAST(NULL AS INT))) AS t (a, b);
-- program: between
SELECT x BETWEEN 15 AND 12, x BETWEEN SYMMETRIC 15 AND 12, x BETWEEN ASYMMETRIC 12 AND 15, x NOT BETWEEN SYMMETRIC 15 AND 12, x BETWEEN 12.5 AND 15.5
FROM (VALUES (12), (14), (16)) AS t (x);
-- program: like
SELECT s LIKE 'f%', s LIKE '_', s LIKE '', s LIKE '%', s LIKE 'f\%', s LIKE 'f$%' ESCAPE '$', s LIKE 'a.b', s LIKE '%l_n%', s NOT LIKE 'f%', s LIKE s,
  s LIKE CAST(NULL AS STRING) FROM (VALUES ('flink'), ('f%'), ('f_'), (''), ('a.b'), (CAST(NULL AS STRING))) AS t (s);
-- program: similar
SELECT s SIMILAR TO 'a+b', s SIMILAR TO '(fl|a)%', s SIMILAR TO '[a-f]_*', s SIMILAR TO 'a!%' ESCAPE '!', s SIMILAR TO '', s NOT SIMILAR TO '%k',
  s SIMILAR TO '[^a]%', s SIMILAR TO 'a{2}b' FROM (VALUES ('flink'), ('aab'), ('a%'), (''), (CAST(NULL AS STRING))) AS t (s);
-- program: texts
SELECT 'a' < 'b', 'a' = 'a ', 'B' < 'a', '' < 'a', 'é' > 'z', 'abc' < 'abd', CAST('a' AS CHAR(3)) = 'a', CAST('a' AS CHAR(3)) = 'a  ',
  CAST('ab' AS VARCHAR(5)) = 'ab', 'a' IN ('a', 'b'), 'a' IN ('a ', 'b');
-- program: times
SELECT DATE '2024-01-01' = DATE '2024-01-01', DATE '2024-01-01' < DATE '2023-12-31', TIME '10:00:00' <= TIME '10:00:00.001',
  TIMESTAMP '2024-01-01 00:00:00' < TIMESTAMP '2024-01-01 00:00:00.001',
  TIMESTAMP '2024-01-01 00:00:00' BETWEEN TIMESTAMP '2023-01-01 00:00:00' AND TIMESTAMP '2025-01-01 00:00:00',
  DATE '2024-01-01' IN (DATE '2024-01-01', DATE '2024-01-02'), INTERVAL '1' DAY < INTERVAL '25' HOUR, INTERVAL '12' MONTH = INTERVAL '1' YEAR,
  TO_TIMESTAMP_LTZ(0, 3) < TO_TIMESTAMP_LTZ(1, 3);
-- program: texts_with_times
SELECT d = '2024-01-01', d = s, d > '2023-01-01', ts = '2024-01-01 10:00:00', ts > s, ts BETWEEN '2024-01-01 00:00:00' AND '2024-01-02 00:00:00',
  d IN ('2024-01-01', '2024-02-01'), '2024-01-01' = d FROM (VALUES (DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00:00', '2024-01-01')) AS t (d, ts, s);
-- program: mixed_numbers
SELECT 1 = 1.0, CAST(0.1 AS DOUBLE) = 0.1, CAST(1 AS BIGINT) = CAST(1.0 AS DECIMAL(5, 1)), CAST(1 AS TINYINT) < CAST(1.5 AS FLOAT), 1 IN (1.0, 2),
  2 BETWEEN 1.5 AND CAST(2.5 AS DOUBLE), -0.0 = 0.0;
-- program: mixed_numbers_of_columns
SELECT i = f, i < f, b = d, b > d, e = n, i > n, b <> n, f > n, n BETWEEN f AND e
FROM (SELECT id + 16777216 AS i, CAST(id + 16777215 AS FLOAT) AS f, CAST(id AS BIGINT) + 9007199254740992 AS b, CAST(id + 9007199254740991 AS DOUBLE) AS d, CAST(id AS DECIMAL(5, 1)) / 10 AS n, CAST(id AS DOUBLE) / 10 AS e FROM people);
-- program: not_a_number
SELECT n < 1, n > 1, i > 1, -i < i, n IS NULL, i > n FROM (SELECT SQRT(CAST(2 - id AS DOUBLE)) AS n, CAST(id AS DOUBLE) / 0 AS i FROM people);
-- program: booleans
SELECT TRUE = TRUE, TRUE > FALSE, FALSE < TRUE, TRUE <> FALSE, CAST(NULL AS BOOLEAN) = TRUE, TRUE IN (FALSE, TRUE);
-- program: bytes
SELECT X'01' = X'01', X'01' < X'02', X'' < X'00', X'FF' > X'01', CAST(X'01' AS BYTES) = X'01', X'01' <> X'0100';
-- program: rows
SELECT ROW(1, 'a') = ROW(1, 'a'), ROW(1, 'a') <> ROW(1, 'b'), (1, 2) = (1, 3), ROW(1, CAST(NULL AS INT)) = ROW(1, CAST(NULL AS INT)),
  ROW(1, CAST(NULL AS INT)) IS NOT DISTINCT FROM ROW(1, CAST(NULL AS INT)), (1, 2) IN ((1, 2), (3, 4)), (1, 2) IS NULL;
-- program: collections
SELECT ARRAY[1, 2] = ARRAY[1, 2], ARRAY[1, 2] <> ARRAY[2, 1], ARRAY[1, CAST(NULL AS INT)] = ARRAY[1, CAST(NULL AS INT)],
  MAP['a', 1, 'b', 2] = MAP['b', 2, 'a', 1], MAP['a', 1] <> MAP['a', 2], ARRAY[1] IS NULL, ARRAY[ARRAY[1]] = ARRAY[ARRAY[1]];
-- program: in_lists
SELECT x IN (1, 2, 3), x IN (1, NULL), x NOT IN (1, NULL), x NOT IN (2, 3), x + 1 IN (2, x), x IN (CAST(5 AS BIGINT), 7), NOT x IN (1)
FROM (VALUES (1), (5), (CAST(NULL AS INT))) AS t (x);
-- program: many_in_a_list
SELECT x IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22),
  x NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22),
  CAST(x AS STRING) IN ('1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12', '13', '14', '15', '16', '17', '18', '19', '20', '21')
FROM (VALUES (1), (25), (CAST(NULL AS INT))) AS t (x);
-- program: big_precisions
SELECT CAST(0.1 AS DECIMAL(38, 18)) = CAST(0.1 AS DECIMAL(10, 1)),
  CAST('12345678901234567890.5' AS DECIMAL(21, 1)) > CAST('12345678901234567890.4' AS DECIMAL(38, 18));
-- program: a_number_is_no_boolean
SELECT 1 = TRUE;
-- program: rows_are_not_ordered
SELECT ROW(1, 2) < ROW(1, 3);
-- program: arrays_are_not_ordered
SELECT ARRAY[1] < ARRAY[2];
-- program: maps_are_not_ordered
SELECT MAP['a', 1] > MAP['a', 2];
-- program: rows_of_other_lengths
SELECT (1, 2) = (1, 2, 3);
-- program: a_number_is_no_date
SELECT DATE '2024-01-01' = 1;
-- program: like_of_a_number
SELECT 1 LIKE '1';
-- program: an_array_is_no_number
SELECT ARRAY[1] = 1;
-- program: a_date_is_no_time
SELECT DATE '2024-01-01' = TIME '10:00:00';
-- program: interval_kinds_do_not_mix
SELECT INTERVAL '1' DAY < INTERVAL '1' MONTH;
-- program: a_text_that_is_no_number
SELECT i FROM (VALUES (1)) AS t (i) WHERE i = 'x';
-- program: a_text_that_is_no_date
SELECT d FROM (VALUES (DATE '2024-01-01')) AS t (d) WHERE d = 'x';
-- program: in_list_of_other_types
SELECT 1 IN ('a', DATE '2024-01-01');
-- program: bytes_and_text
SELECT X'61' = 'a';
-- program: chained
SELECT 1 < 2 < 3;
-- program: text_is_no_number
SELECT s FROM (VALUES ('1', 1)) AS t (s, i) WHERE s = i;
-- program: number_is_no_text
SELECT i FROM (VALUES (1)) AS t (i) WHERE i = '1';
-- program: decimal_is_no_text
SELECT n FROM (VALUES (1.5)) AS t (n) WHERE n = '1.5';
-- program: unequal_sign_of_other_languages
SELECT 1 != 2;
-- program: text_below_a_number
SELECT s > 0 FROM (VALUES ('1', 1)) AS t (s, i);
-- program: number_in_texts
SELECT i IN ('1', '2') FROM (VALUES ('1', 1)) AS t (s, i);
-- program: boolean_and_text
-- differs: a text that is compared with a boolean is read as a boolean; in Flink they are never equal
SELECT TRUE = 'true';
-- program: literal_of_many_digits
-- differs: an integer beyond BIGINT is a DECIMAL here, as in other databases
SELECT 12345678901234567890.5 > 1;
