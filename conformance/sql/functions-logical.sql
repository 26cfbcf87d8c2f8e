-- program: and_or
SELECT a, b, a AND b, a OR b, NOT a, NOT (a AND b), NOT (a OR b), a <> b, a = b
FROM (VALUES (TRUE, TRUE), (TRUE, FALSE), (TRUE, CAST(NULL AS BOOLEAN)), (FALSE, FALSE), (FALSE, CAST(NULL AS BOOLEAN)), (CAST(NULL AS BOOLEAN), CAST(NULL AS BOOLEAN))) AS t (a, b);
-- program: tests
SELECT a, a IS TRUE, a IS NOT TRUE, a IS FALSE, a IS NOT FALSE, a IS UNKNOWN, a IS NOT UNKNOWN, a IS NULL, NOT a IS TRUE
FROM (VALUES (TRUE), (FALSE), (CAST(NULL AS BOOLEAN))) AS t (a);
-- program: unknown_literal
SELECT a AND UNKNOWN, a OR UNKNOWN, NOT UNKNOWN, UNKNOWN IS UNKNOWN FROM (VALUES (TRUE), (FALSE), (CAST(NULL AS BOOLEAN))) AS t (a);
-- program: precedence
SELECT TRUE OR FALSE AND FALSE, NOT TRUE OR TRUE, NOT FALSE AND FALSE, (TRUE OR FALSE) AND FALSE, 1 + 1 = 2 AND NOT 1 > 2, NOT 1 IN (2), 1 = 1 IS TRUE,
  1 BETWEEN 0 AND 2 AND TRUE;
-- program: lazy
SELECT x = 0 OR 4 / x = 2, x <> 0 AND 4 / x = 2, CASE WHEN x = 0 THEN -1 ELSE 4 / x END FROM (VALUES (0), (2)) AS t (x);
-- program: case
SELECT CASE x WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END, CASE x WHEN 1 THEN 'one' END,
  CASE WHEN x > 1 THEN 'more' WHEN x IS NULL THEN 'none' END, CASE x WHEN 1, 2 THEN 'few' ELSE 'many' END,
  CASE WHEN x = 1 THEN 1 WHEN x = 2 THEN 2.5 ELSE CAST(3 AS BIGINT) END, CASE WHEN x = 1 THEN NULL ELSE x END,
  CASE x WHEN CAST(NULL AS INT) THEN 'null' ELSE 'else' END, CASE WHEN CAST(NULL AS BOOLEAN) THEN 1 ELSE 2 END,
  CASE WHEN x = 1 THEN CASE WHEN x > 0 THEN 'in' END ELSE 'out' END FROM (VALUES (1), (2), (3), (CAST(NULL AS INT))) AS t (x);
-- program: case_of_texts
SELECT CASE 'b' WHEN 'bar' THEN 1 WHEN 'b' THEN 2 END, CASE WHEN TRUE THEN 'a' ELSE 'long text' END,
  CHAR_LENGTH(CASE WHEN TRUE THEN 'a' ELSE 'long text' END), TYPEOF(CASE WHEN TRUE THEN 'a' ELSE 'abc' END),
  TYPEOF(CASE WHEN TRUE THEN 1 ELSE 2.5 END), TYPEOF(CASE WHEN TRUE THEN CAST(1 AS SMALLINT) ELSE CAST(1 AS BIGINT) END),
  TYPEOF(CASE WHEN TRUE THEN CAST(1 AS FLOAT) ELSE 1.5 END), TYPEOF(CASE WHEN TRUE THEN 1 ELSE CAST(1 AS DOUBLE) END);
-- program: nullif
SELECT NULLIF(5, 5), NULLIF(5, 0), NULLIF('a', 'b'), NULLIF(CAST(NULL AS INT), 1), NULLIF(1, CAST(NULL AS INT)), NULLIF(1, 1.0),
  NULLIF(DATE '2024-01-01', DATE '2024-01-01');
-- program: coalesce
SELECT COALESCE(NULL, 5), COALESCE(CAST(NULL AS INT), CAST(NULL AS INT)), COALESCE(1, 2), COALESCE(CAST(NULL AS STRING), 'default'),
  COALESCE(CAST(NULL AS INT), 2.5), COALESCE(CAST(NULL AS BIGINT), 1, 2), COALESCE(CAST(NULL AS ARRAY<INT>), ARRAY[1]),
  TYPEOF(COALESCE(CAST(NULL AS INT), 1)), TYPEOF(COALESCE(CAST(NULL AS INT), CAST(NULL AS BIGINT))),
  TYPEOF(COALESCE(CAST('a' AS VARCHAR(3)), CAST('b' AS VARCHAR(7))));
-- program: if
SELECT IF(5 > 3, 5, 3), IF(TRUE, 'a', 'abc'), IF(FALSE, 'a', 'abc'), IF(CAST(NULL AS BOOLEAN), 1, 2), IF(TRUE, 1, 2.5),
  IF(FALSE, 1, CAST(2 AS BIGINT)), TYPEOF(IF(TRUE, 1, CAST(2 AS BIGINT))), IFNULL(CAST(NULL AS INT), 5), IFNULL(3, 5),
  IFNULL(CAST(NULL AS STRING), 'x'), IFNULL(CAST(NULL AS DECIMAL(5, 2)), 1.5), TYPEOF(IFNULL(CAST(1 AS INT), 5));
-- program: greatest_and_least
SELECT GREATEST(1, 3, 2), LEAST(1, 3, 2), GREATEST('a', 'c', 'b'), LEAST('b', 'a'), GREATEST(1, 2.5), LEAST(CAST(NULL AS INT), 1),
  GREATEST(DATE '2024-01-01', DATE '2024-05-01'), GREATEST(TRUE, FALSE), LEAST(TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2023-01-01 00:00:00'),
  TYPEOF(GREATEST(1, 2.5)), TYPEOF(LEAST(1, CAST(2 AS BIGINT))), GREATEST(1);
-- program: predicates
SELECT s, IS_ALPHA(s), IS_DECIMAL(s), IS_DIGIT(s)
FROM (VALUES ('abc'), ('a1'), ('12'), ('-1.5'), ('1e3'), (''), (' 1'), ('é'), ('.5'), ('+2'), (CAST(NULL AS STRING))) AS t (s);
-- program: filters
SELECT x FROM (VALUES (1), (2), (CAST(NULL AS INT))) AS t (x) WHERE NOT (x = 1) OR x IS NULL;
-- program: and_of_numbers
SELECT 1 AND 2;
-- program: not_of_a_text
SELECT NOT 'a';
-- program: case_of_types_without_a_common_one
SELECT CASE WHEN TRUE THEN 1 ELSE DATE '2024-01-01' END;
-- program: coalesce_of_nothing
SELECT COALESCE();
-- program: coalesce_of_other_types
SELECT COALESCE(1, DATE '2024-01-01');
-- program: if_of_two
SELECT IF(TRUE, 1);
-- program: if_of_no_condition
SELECT IF(1, 2, 3);
-- program: case_without_a_condition
SELECT CASE ELSE 1 END;
-- program: greatest_of_other_types
SELECT GREATEST(1, 'a');
-- program: nullif_of_one
SELECT NULLIF(1);
-- program: greatest_of_a_text_and_a_number
SELECT COALESCE('a', 1);
-- program: if_of_mixed_types
SELECT IF(TRUE, 'a', 1);
-- program: if_with_null
-- differs: NULL may be an argument of IF
SELECT IF(TRUE, NULL, 1), IF(TRUE, 1, NULL);
