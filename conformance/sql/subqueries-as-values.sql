CREATE VIEW l AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (2, 'c'), (CAST(NULL AS INT), 'd')) AS t (k, x);
CREATE VIEW r AS SELECT * FROM (VALUES (2, 'e'), (2, 'f'), (3, 'g'), (CAST(NULL AS INT), 'h')) AS t (k, y);

-- program: in_as_a_value_with_nulls
SELECT x, k IN (SELECT k FROM r) FROM l;
-- program: not_in_as_a_value_with_nulls
SELECT x, k NOT IN (SELECT k FROM r) FROM l;
-- program: not_in_as_a_value
SELECT x, k NOT IN (SELECT k FROM r WHERE k IS NOT NULL) FROM l;
-- program: in_of_nothing_as_a_value
SELECT x, k IN (SELECT k FROM r WHERE k > 9), k NOT IN (SELECT k FROM r WHERE k > 9) FROM l;
-- program: in_or_a_condition
SELECT x FROM l WHERE x = 'a' OR k IN (SELECT k FROM r WHERE k IS NOT NULL);
-- program: in_or_a_condition_with_nulls
SELECT x FROM l WHERE x = 'a' OR k IN (SELECT k FROM r);
-- program: not_in_or_a_condition
SELECT x FROM l WHERE x = 'c' OR k NOT IN (SELECT k FROM r WHERE k IS NOT NULL);
-- program: in_within_case
SELECT x, CASE WHEN k IN (SELECT k FROM r WHERE k IS NOT NULL) THEN 'yes' ELSE 'no' END FROM l;
-- program: case_with_in_in_where
SELECT x FROM l WHERE CASE WHEN k IN (SELECT k FROM r WHERE k IS NOT NULL) THEN x = 'b' ELSE TRUE END;
-- program: exists_as_a_value
-- differs: Flink cannot plan a correlated query as a value; here it is an ordinary join
SELECT x, EXISTS (SELECT * FROM r WHERE r.k = l.k), NOT EXISTS (SELECT * FROM r WHERE r.k = l.k) FROM l;
-- program: exists_within_case
-- differs: Flink cannot plan a correlated query as a value; here it is an ordinary join
SELECT x, CASE WHEN EXISTS (SELECT * FROM r WHERE r.k = l.k) THEN 1 ELSE 0 END FROM l;
-- program: exists_or_a_condition_correlated
-- differs: Flink cannot plan a correlated query as a value; here it is an ordinary join
SELECT x FROM l WHERE x = 'a' OR EXISTS (SELECT * FROM r WHERE r.k = l.k);
-- program: scalar_within_case
SELECT x, CASE WHEN k > (SELECT MIN(k) FROM r) THEN 'more' ELSE 'less' END FROM l;
-- program: scalar_or_a_condition
SELECT x FROM l WHERE x = 'd' OR k = (SELECT MIN(k) FROM r);
-- program: correlated_scalar_within_case
-- differs: Flink cannot plan a correlated query as a value; here it is an ordinary join
SELECT x, CASE (SELECT COUNT(*) FROM r WHERE r.k = l.k) WHEN 0 THEN 'none' ELSE 'some' END FROM l;
-- program: in_as_a_value_in_batch (batch)
SELECT x, k IN (SELECT k FROM r) FROM l;
-- program: in_as_a_value_of_a_correlated_query
-- differs: Flink cannot plan a correlated query as a value; here it is an ordinary join
SELECT x, 'e' IN (SELECT y FROM r WHERE r.k = l.k) FROM l;
-- program: in_of_two_columns_as_a_value
SELECT x, (k, x) IN (SELECT k, 'b' FROM r WHERE k IS NOT NULL) FROM l;
-- program: in_after_aggregation
SELECT k, COUNT(*), k IN (SELECT k FROM r WHERE k IS NOT NULL) FROM l GROUP BY k;
-- program: in_in_a_condition_of_a_join
-- differs: Flink's planner ends with a NullPointerException
SELECT l.x, r.y FROM l JOIN r ON l.k = r.k AND r.k IN (SELECT k FROM r WHERE k = 2);
-- program: scalar_as_an_argument
-- differs: Flink cannot plan a correlated query as a value; here it is an ordinary join
SELECT x, COALESCE((SELECT MAX(y) FROM r WHERE r.k = l.k), 'none') FROM l;
-- program: some_as_a_value
SELECT x, k > SOME (SELECT k FROM r WHERE k IS NOT NULL) FROM l;
-- program: not_of_in
SELECT x FROM l WHERE NOT (k IN (SELECT k FROM r WHERE k IS NOT NULL) OR x = 'a');
