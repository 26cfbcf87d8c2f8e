CREATE TABLE people (id INT, name STRING, tags ARRAY<STRING>, scores MAP<STRING, INT>,
  home ROW<street STRING, zip INT>)
WITH ('connector' = 'filesystem', 'path' = '${data}/people.json', 'format' = 'json');

-- program: arithmetic
SELECT a + b, a - b, a * b, a / b, a % b, -a, +a FROM (VALUES (7, 2), (-7, 2), (7, -2)) AS t (a, b);
-- program: mixed_types
SELECT 1 + CAST(2 AS BIGINT), 1 / 2.0, CAST(1 AS DOUBLE) / 3, CAST(7 AS SMALLINT) * CAST(2 AS TINYINT), 1.5 * 2.25, 10 / CAST(4 AS DECIMAL(4, 2));
-- program: division_by_zero
SELECT 1 / a FROM (VALUES (0)) AS t (a);
-- program: double_division_by_zero
SELECT id, CAST(id - 2 AS DOUBLE) / (id - 1), CAST(id AS DOUBLE) / (id - 2) FROM people;
-- program: overflow_wraps
SELECT a + 1, a * 2 FROM (VALUES (2147483647)) AS t (a);
-- program: rounding
SELECT ROUND(x, 1), ROUND(x), FLOOR(x), CEIL(x), TRUNCATE(x, 1), ABS(x), SIGN(x) FROM (VALUES (2.25), (-2.25), (2.35)) AS t (x);
-- program: rounding_doubles
SELECT ROUND(x, 1), FLOOR(x), CEIL(x), TRUNCATE(x, 1), SIGN(x) FROM (VALUES (CAST(2.25 AS DOUBLE)), (CAST(-0.05 AS DOUBLE))) AS t (x);
-- program: powers_and_logarithms
SELECT POWER(2, 10), SQRT(2), EXP(1), LN(10), LOG10(1000), LOG2(8), LOG(2, 16), CBRT_OF FROM (VALUES (1)) AS t (CBRT_OF);
-- program: trigonometry
SELECT SIN(0.5), COS(0.5), TAN(0.5), COT(0.5), ASIN(0.5), ACOS(0.5), ATAN(0.5), ATAN2(1, 2), SINH(0.5), COSH(0.5), TANH(0.5), DEGREES(1), RADIANS(90), PI(), E();
-- program: mod_and_greatest
SELECT MOD(10, 3), MOD(-10, 3), GREATEST(1, 5, 3), LEAST(2.5, 1.5), GREATEST(1, CAST(NULL AS INT));
-- program: bases
SELECT BIN(10), HEX(255), HEX('ab'), UNHEX('6162'), CONV_TEXT FROM (VALUES ('x')) AS t (CONV_TEXT);
-- program: null_arithmetic
SELECT a + 1, ABS(a), a * 0 FROM (VALUES (CAST(NULL AS INT))) AS t (a);
-- program: decimal_scales
SELECT CAST(1.23 AS DECIMAL(5, 2)) + CAST(1.234 AS DECIMAL(6, 3)), CAST(1.23 AS DECIMAL(5, 2)) * CAST(1.234 AS DECIMAL(6, 3)),
  CAST(1.23 AS DECIMAL(5, 2)) / CAST(1.234 AS DECIMAL(6, 3)), MOD(CAST(7.5 AS DECIMAL(3, 1)), CAST(2 AS DECIMAL(3, 0)));
-- program: decimal_overflow_is_null
SELECT CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) * x FROM (VALUES (CAST(10 AS DECIMAL(38, 0)))) AS t (x);
-- program: integer_beyond_bigint
-- differs: an integer beyond BIGINT is a DECIMAL here, as in other databases
SELECT CAST(99999999999999999999999999999999999999 AS DECIMAL(38, 0)) * x FROM (VALUES (CAST(1 AS DECIMAL(38, 0)))) AS t (x);
