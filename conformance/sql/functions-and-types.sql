-- program: coalesce_and_if
SELECT COALESCE(CAST(NULL AS INT), 3), IF(1 > 2, 'a', 'b'), IFNULL(CAST(NULL AS STRING), 'x'), NULLIF(1, 1), NULLIF(1, 2), IF(CAST(NULL AS BOOLEAN), 1, 2);
-- program: logic
SELECT a AND b, a OR b, NOT a, a IS TRUE, a IS NOT FALSE, b IS UNKNOWN FROM (VALUES (TRUE, CAST(NULL AS BOOLEAN)), (FALSE, CAST(NULL AS BOOLEAN)), (TRUE, FALSE)) AS t (a, b);
-- program: typeof
SELECT TYPEOF(1), TYPEOF(1.5), TYPEOF('abc'), TYPEOF(CAST(NULL AS BIGINT)), TYPEOF(ARRAY[1, 2]), TYPEOF(ROW(1, 'a')), TYPEOF(TIMESTAMP '2024-01-01 00:00:00.123'), TYPEOF(MAP['a', 1]);
-- program: out_of_bounds
-- differs: a missing element is NULL, as documented; Flink gives -1, because its elements are NOT NULL
SELECT ARRAY[1, 2][9], MAP['a', 1]['z'];
-- program: arrays
SELECT ARRAY[1, 2, 3][1], CARDINALITY(ARRAY[1, 2]), ELEMENT(ARRAY[7]), ARRAY['a', 'b'];
-- program: array_functions
SELECT ARRAY_CONTAINS(ARRAY[1, 2], 2), ARRAY_DISTINCT(ARRAY[1, 2, 1]), ARRAY_POSITION(ARRAY[3, 4], 4), ARRAY_REMOVE(ARRAY[1, 2, 1], 1), ARRAY_REVERSE(ARRAY[1, 2]), ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3]),
  ARRAY_CONCAT(ARRAY[1], ARRAY[2]), ARRAY_MAX(ARRAY[1, 5, 2]), ARRAY_MIN(ARRAY[4, 2]), ARRAY_JOIN(ARRAY['a', 'b'], '-'), ARRAY_SLICE(ARRAY[1, 2, 3, 4], 2, 3), ARRAY_SORT(ARRAY[3, 1, 2]),
  ARRAY_APPEND(ARRAY[1], 2), ARRAY_PREPEND(ARRAY[1], 0), ARRAY_EXCEPT(ARRAY[1, 2, 3], ARRAY[2]), ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[2, 3]);
-- program: maps
SELECT MAP['a', 1, 'b', 2]['b'], CARDINALITY(MAP['a', 1]), MAP_KEYS(MAP['a', 1]), MAP_VALUES(MAP['a', 1]), MAP_ENTRIES(MAP['a', 1]), MAP_FROM_ARRAYS(ARRAY['x'], ARRAY[9]), MAP_UNION(MAP['a', 1], MAP['b', 2]);
-- program: rows
SELECT r.a, r.b.c, r FROM (SELECT CAST(ROW(1, ROW('x')) AS ROW<a INT, b ROW<c STRING>>) AS r);
-- program: json_values
SELECT JSON_VALUE('{"a": {"b": 1}}', '$.a.b'), JSON_VALUE('{"a": 1}', '$.x'), JSON_VALUE('{"a": 15}', '$.a' RETURNING INTEGER), JSON_VALUE('{"a": 1}', 'lax $.x' DEFAULT 'none' ON EMPTY),
  JSON_EXISTS('{"a": 1}', '$.a'), JSON_EXISTS('{"a": 1}', '$.b');
-- program: json_queries
SELECT JSON_QUERY('{"a": [1, 2]}', '$.a'), JSON_QUERY('{"a": 1}', '$.a'), JSON_QUERY('{"a": 1}', '$.a' WITH WRAPPER), '{"a": 1}' IS JSON, 'x' IS JSON, '[1]' IS JSON ARRAY, '{}' IS NOT JSON OBJECT;
-- program: json_constructors
SELECT JSON_OBJECT('a' VALUE 1, 'b' VALUE CAST(NULL AS STRING)), JSON_OBJECT('b' VALUE CAST(NULL AS STRING) ABSENT ON NULL), JSON_ARRAY(1, 'x', TRUE), JSON_STRING('a"b'), JSON_QUOTE('a"b'), JSON_UNQUOTE('"ab"');
-- program: json_value_of_a_text_as_a_number
-- differs: a number in a text is read as a number; Flink fails with a ClassCastException
SELECT JSON_VALUE('{"a": "1.5"}', '$.a' RETURNING DOUBLE);
-- program: wrong_json
SELECT JSON_VALUE('{oops', '$.a'), JSON_EXISTS('{oops', '$.a'), JSON_QUERY('{oops', '$.a');
-- program: casts_of_text
SELECT CAST(' 12 ' AS INT), CAST('1.50' AS DECIMAL(5, 1)), CAST('true' AS BOOLEAN), CAST('2024-01-02' AS DATE), CAST('2024-01-02 03:04:05.678' AS TIMESTAMP(2)), CAST('1e3' AS DOUBLE), CAST('03:04:05' AS TIME);
-- program: casts_to_text
SELECT CAST(1.50 AS STRING), CAST(CAST(1 AS DOUBLE) AS STRING), CAST(TRUE AS STRING), CAST(DATE '2024-01-02' AS STRING), CAST(TIMESTAMP '2024-01-02 03:04:05' AS STRING), CAST(CAST(1E10 AS FLOAT) AS STRING),
  CAST(ARRAY[1, 2] AS STRING), CAST(ROW(1, 'a') AS STRING), CAST(MAP['a', 1] AS STRING), CAST(X'6162' AS STRING), CAST(CAST(1.0E-5 AS DOUBLE) AS STRING), CAST(CAST(12345678.9 AS DOUBLE) AS STRING);
-- program: casts_of_numbers
SELECT CAST(2.9 AS INT), CAST(-2.9 AS INT), CAST(300 AS TINYINT), CAST(CAST(1E20 AS DOUBLE) AS INT), CAST(1 AS BOOLEAN), CAST(TRUE AS INT), CAST(2.345 AS DECIMAL(3, 2)), CAST(2.355 AS DECIMAL(3, 2));
-- program: failing_cast
SELECT CAST(s AS INT) FROM (VALUES ('x')) AS t (s);
-- program: try_cast
SELECT TRY_CAST(s AS INT), TRY_CAST(s AS BOOLEAN), TRY_CAST(s AS DATE) FROM (VALUES ('x'), ('1'), ('2024-01-01')) AS t (s);
-- program: cast_to_char
SELECT CAST('abcdef' AS VARCHAR(3)), CAST('a' AS CHAR(3)), CAST(12345 AS VARCHAR(3)), CAST('ab' AS BINARY(2)), CAST('abc' AS BYTES);
-- program: cast_that_makes_no_sense
SELECT CAST(DATE '2024-01-01' AS INT);
-- program: numbers_and_times
SELECT CAST(TIMESTAMP '2024-01-01 12:34:56' AS DATE), CAST(TIMESTAMP '2024-01-01 12:34:56' AS TIME), CAST(DATE '2024-01-01' AS TIMESTAMP), CAST(TIMESTAMP '2024-01-01 12:34:56.789' AS TIMESTAMP(0));
-- program: types_without_a_length
SELECT TYPEOF(CAST('abc' AS VARCHAR)), TYPEOF(CAST('abc' AS CHAR)), TYPEOF(CAST(X'6162' AS VARBINARY)), TYPEOF(CAST(1 AS DECIMAL)), TYPEOF(CAST('2024-01-01 00:00:00' AS TIMESTAMP)), CAST('abc' AS CHAR);
-- program: binary
SELECT X'45F0AB', CAST(X'6162' AS VARCHAR), TO_BASE64('ab'), ENCODE('é', 'UTF-8');
-- program: comparison_of_bytes_and_rows
SELECT X'01' < X'02', ROW(1, 2) = ROW(1, 2), ARRAY[1] = ARRAY[1];
-- program: uuids_and_random_types
SELECT CHAR_LENGTH(UUID()), RAND() < 1, RAND_INTEGER(5) < 5, RAND(3) BETWEEN 0 AND 1;
-- program: date_types
SELECT CAST(CAST('2024-01-02 03:04:05.123456789' AS TIMESTAMP(9)) AS STRING), CAST(TIMESTAMP '2024-01-02 03:04:05.123456' AS TIMESTAMP(3)), TIME '10:00:00' ;
-- program: collections_of_nulls
SELECT CAST(ARRAY[CAST(NULL AS INT), 1] AS STRING), CAST(MAP['a', CAST(NULL AS INT)] AS STRING), CAST(ROW(CAST(NULL AS INT)) AS STRING), CARDINALITY(CAST(NULL AS ARRAY<INT>));
-- program: between_types
SELECT 1 = 1.0, 1 = CAST(1 AS DOUBLE), '1' = 1, CAST(1 AS SMALLINT) = CAST(1 AS BIGINT);
-- program: case_with_types
SELECT CASE WHEN x > 1 THEN 1 ELSE 2.5 END, COALESCE(x, CAST(7 AS BIGINT)) FROM (VALUES (1), (2), (CAST(NULL AS INT))) AS t (x);
-- program: hash_and_system
SELECT CAST(CURRENT_TIMESTAMP AS STRING) IS NOT NULL, CURRENT_DATE IS NOT NULL, LOCALTIME IS NOT NULL, CURRENT_DATABASE(), NOW() = CURRENT_TIMESTAMP;
