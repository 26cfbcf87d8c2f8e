CREATE VIEW n AS SELECT * FROM (VALUES
  (1, CAST(100 AS TINYINT), CAST(30000 AS SMALLINT), 2147483647, 9223372036854775807, 1.50, CAST(1.5 AS DOUBLE), CAST(1.5 AS FLOAT), 'b', TRUE, DATE '1969-12-31'),
  (1, CAST(100 AS TINYINT), CAST(30000 AS SMALLINT), 2147483647, 9223372036854775807, 2.25, CAST(2.25 AS DOUBLE), CAST(2.5 AS FLOAT), 'a', FALSE, DATE '2024-02-29'),
  (2, CAST(NULL AS TINYINT), CAST(NULL AS SMALLINT), CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS DECIMAL(3, 2)), CAST(NULL AS DOUBLE), CAST(NULL AS FLOAT), CAST(NULL AS STRING), CAST(NULL AS BOOLEAN), CAST(NULL AS DATE)),
  (3, CAST(-7 AS TINYINT), CAST(-7 AS SMALLINT), -7, CAST(-7 AS BIGINT), -0.07, CAST(-7 AS DOUBLE), CAST(-7 AS FLOAT), '', TRUE, DATE '1969-12-31'),
  (3, CAST(NULL AS TINYINT), CAST(NULL AS SMALLINT), CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS DECIMAL(3, 2)), CAST(NULL AS DOUBLE), CAST(NULL AS FLOAT), CAST(NULL AS STRING), CAST(NULL AS BOOLEAN), CAST(NULL AS DATE)),
  (3, CAST(4 AS TINYINT), CAST(4 AS SMALLINT), 4, CAST(4 AS BIGINT), 0.04, CAST(4 AS DOUBLE), CAST(4 AS FLOAT), 'é', TRUE, DATE '2024-02-29')
) AS t (g, t, s, i, b, d, f, r, x, o, w);
CREATE VIEW nothing AS SELECT * FROM n WHERE g > 9;

-- program: counts
SELECT g, COUNT(*), COUNT(t), COUNT(x), COUNT(DISTINCT t), COUNT(DISTINCT x), COUNT(g, i) FROM n GROUP BY g;
-- program: sums_of_small_integers
SELECT g, SUM(t), SUM(s), TYPEOF(SUM(t)), TYPEOF(SUM(s)) FROM n GROUP BY g;
-- program: sums_that_overflow
SELECT g, SUM(i), SUM(b), TYPEOF(SUM(i)), TYPEOF(SUM(b)) FROM n GROUP BY g;
-- program: sums_of_fractions
SELECT g, SUM(d), SUM(f), SUM(r), TYPEOF(SUM(d)), TYPEOF(SUM(f)), TYPEOF(SUM(r)) FROM n GROUP BY g;
-- program: averages_of_integers
SELECT g, AVG(t), AVG(s), AVG(i), AVG(b), TYPEOF(AVG(t)), TYPEOF(AVG(i)), TYPEOF(AVG(b)) FROM n GROUP BY g;
-- program: averages_of_fractions
SELECT g, AVG(d), AVG(f), AVG(r), TYPEOF(AVG(d)), TYPEOF(AVG(f)), TYPEOF(AVG(r)) FROM n GROUP BY g;
-- program: extremes
SELECT g, MIN(t), MAX(s), MIN(i), MAX(b), MIN(d), MAX(f), MIN(r), MIN(x), MAX(x), MIN(w), MAX(w) FROM n GROUP BY g;
-- program: extremes_of_booleans
SELECT g, MIN(o), MAX(o) FROM n GROUP BY g;
-- program: deviations
SELECT g, STDDEV_POP(i), STDDEV_SAMP(t), VAR_POP(f), VAR_SAMP(f), STDDEV(f), VARIANCE(f) FROM n WHERE g <> 1 GROUP BY g;
-- program: deviations_of_decimals
SELECT g, STDDEV_POP(d), VAR_SAMP(d), TYPEOF(STDDEV_POP(d)), TYPEOF(VAR_SAMP(d)) FROM n GROUP BY g;
-- program: of_nothing
SELECT COUNT(*), COUNT(i), SUM(i), AVG(d), MIN(x), MAX(w), STDDEV_POP(f), VAR_SAMP(f), LISTAGG(x) FROM nothing;
-- program: of_nothing_by_group
SELECT g, COUNT(*), SUM(i) FROM nothing GROUP BY g;
-- program: of_nothing_in_batch (batch)
SELECT COUNT(*), COUNT(i), SUM(i), AVG(d), MIN(x), MAX(w), STDDEV_POP(f), VAR_SAMP(f) FROM nothing;
-- program: collect_of_nothing
SELECT CAST(COLLECT(x) AS STRING) FROM nothing;
-- program: collect_with_nulls
-- differs: CARDINALITY takes a MULTISET, as documented; Flink's code generator fails
SELECT g, CARDINALITY(COLLECT(t)), CARDINALITY(COLLECT(DISTINCT t)) FROM n GROUP BY g;
-- program: listagg_with_nulls
SELECT g, LISTAGG(x), LISTAGG(x, '|'), LISTAGG(DISTINCT x, '-') FROM n WHERE g <> 1 GROUP BY g;
-- program: array_agg_with_nulls
SELECT g, CAST(ARRAY_AGG(i) AS STRING), CAST(ARRAY_AGG(x IGNORE NULLS) AS STRING), CAST(ARRAY_AGG(DISTINCT t) AS STRING) FROM n WHERE g <> 3 GROUP BY g;
-- program: first_and_last_values
SELECT g, FIRST_VALUE(x), LAST_VALUE(x), FIRST_VALUE(i), LAST_VALUE(w) FROM n GROUP BY g;
-- program: filters
SELECT g, COUNT(*) FILTER (WHERE t > 0), SUM(i) FILTER (WHERE t < 0), MAX(x) FILTER (WHERE x IS NULL), COUNT(DISTINCT x) FILTER (WHERE o) FROM n GROUP BY g;
-- program: json_aggregates
SELECT g, JSON_ARRAYAGG(i), JSON_ARRAYAGG(i NULL ON NULL), JSON_OBJECTAGG(KEY CAST(g AS STRING) VALUE g) FROM n WHERE g = 2 GROUP BY g;
-- program: json_object_of_many
SELECT JSON_OBJECTAGG(KEY x VALUE d), JSON_OBJECTAGG(KEY x VALUE i ABSENT ON NULL), JSON_ARRAYAGG(x) FROM n WHERE x = 'b';
-- program: json_object_with_nulls
SELECT JSON_OBJECTAGG(KEY CAST(g AS STRING) VALUE i), JSON_OBJECTAGG(KEY CAST(g AS STRING) VALUE i ABSENT ON NULL) FROM n WHERE g = 2;
-- program: precision_of_decimals
SELECT SUM(d), AVG(d), MAX(d), TYPEOF(SUM(d)), TYPEOF(AVG(d)), TYPEOF(MAX(d)) FROM (SELECT CAST(d AS DECIMAL(38, 10)) AS d FROM n);
-- program: average_of_thirds
SELECT AVG(d), AVG(i), AVG(f) FROM (VALUES (1.0, 1, CAST(1 AS DOUBLE)), (1.0, 1, CAST(1 AS DOUBLE)), (0.0, 0, CAST(0 AS DOUBLE))) AS t (d, i, f);
-- program: average_of_negatives
SELECT AVG(i), AVG(d) FROM (VALUES (-1, -0.1), (-2, -0.2)) AS t (i, d);
-- program: decimal_sum_that_overflows
SELECT SUM(d) FROM (VALUES (CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0))), (CAST('1' AS DECIMAL(38, 0)))) AS t (d);
-- program: distinct_sums
SELECT SUM(DISTINCT t), AVG(DISTINCT t), MAX(DISTINCT t), COUNT(DISTINCT d), SUM(DISTINCT d) FROM n;
-- program: sum_of_text_is_refused
SELECT SUM(x) FROM n;
-- program: average_of_a_date_is_refused
SELECT AVG(w) FROM n;
-- program: sum_of_an_interval
SELECT SUM(v) FROM (VALUES (INTERVAL '1' DAY), (INTERVAL '2' HOUR)) AS t (v);
-- program: maximum_of_an_array
SELECT MAX(v) FROM (VALUES (ARRAY[1]), (ARRAY[2])) AS t (v);
-- program: nested_aggregate_is_refused
SELECT SUM(COUNT(*)) FROM n;
-- program: aggregate_in_where_is_refused
SELECT g FROM n WHERE SUM(i) > 1 GROUP BY g;
-- program: having_without_group_by
SELECT SUM(t) FROM n HAVING COUNT(*) > 3;
-- program: grouping_by_null
SELECT t, COUNT(*) FROM n GROUP BY t;
-- program: grouping_by_expressions
SELECT MOD(i, 2), x IS NULL, COUNT(*) FROM n GROUP BY MOD(i, 2), x IS NULL;
-- program: rollup_with_nulls
SELECT g, o, COUNT(*), GROUPING(g), GROUPING(o), GROUPING_ID(g, o) FROM n GROUP BY ROLLUP (g, o);
-- program: retracted_aggregates
SELECT MIN(s), MAX(s), COUNT(DISTINCT c), AVG(s), SUM(c) FROM (SELECT g, SUM(t) AS s, COUNT(*) AS c FROM n GROUP BY g);
-- program: percentiles
SELECT PERCENTILE(f, 0.5), PERCENTILE(i, 0.25), PERCENTILE(f, ARRAY[0.0, 0.5, 1.0]) FROM n WHERE g <> 1;
-- program: approximate_count
SELECT APPROX_COUNT_DISTINCT(x) FROM n;
-- program: approximate_count_in_batch (batch)
-- differs: APPROX_COUNT_DISTINCT is left out; COUNT(DISTINCT x) counts exactly
SELECT APPROX_COUNT_DISTINCT(x), APPROX_COUNT_DISTINCT(i) FROM n;
-- program: percentiles_by_frequency
SELECT g, PERCENTILE(f, 0.5), PERCENTILE(i, 0.25, CASE WHEN i > 0 THEN 3 ELSE 1 END), PERCENTILE(d, 1.0) FROM n GROUP BY g;
-- program: percentile_of_nothing
SELECT PERCENTILE(f, 0.5) FROM nothing;
-- program: percentile_of_an_aggregate
SELECT PERCENTILE(s, 0.5) FROM (SELECT g, SUM(t) AS s FROM n GROUP BY g);
