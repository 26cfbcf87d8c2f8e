-- program: values
SELECT JSON_VALUE(j, '$.a'), JSON_VALUE(j, '$.b.c'), JSON_VALUE(j, '$.l[1]'), JSON_VALUE(j, '$.l[2].d'), JSON_VALUE(j, '$.n'), JSON_VALUE(j, '$.f'),
  JSON_VALUE(j, '$.e'), JSON_VALUE(j, '$.s'), JSON_VALUE(j, '$.b'), JSON_VALUE(j, '$.l'), JSON_VALUE(j, '$.zz'), JSON_VALUE(j, '$[''a'']'),
  JSON_VALUE(j, 'lax $.a'), JSON_VALUE(j, 'strict $.a'), JSON_VALUE(j, '$.l[9]'), JSON_VALUE(j, '$.l[-1].d')
FROM (VALUES ('{"a": 1, "b": {"c": "x"}, "l": [1, 2, {"d": true}], "n": null, "f": 1.50, "e": 1e3, "s": "q\"t"}')) AS t (j);
-- program: value_returning
SELECT JSON_VALUE('{"a": 1}', '$.a' RETURNING INTEGER), JSON_VALUE('{"a": true}', '$.a' RETURNING BOOLEAN),
  JSON_VALUE('{"a": 1.5}', '$.a' RETURNING DOUBLE), JSON_VALUE('{"a": "x"}', '$.a' RETURNING STRING), JSON_VALUE('{"a": 1}', '$.a' RETURNING STRING),
  JSON_VALUE('{"a": 1}', '$.z' RETURNING INTEGER), JSON_VALUE('{"a": 1}', '$.z' RETURNING INTEGER DEFAULT 7 ON EMPTY),
  TYPEOF(JSON_VALUE('{"a": 1}', '$.a' RETURNING INTEGER)), TYPEOF(JSON_VALUE('{"a": 1}', '$.a'));
-- program: value_errors
SELECT JSON_VALUE('{"a": 1}', 'strict $.z' NULL ON ERROR), JSON_VALUE('{"a": 1}', 'strict $.z' DEFAULT 'e' ON ERROR),
  JSON_VALUE('{"a": 1}', 'lax $.z' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR), JSON_VALUE('{"a": [1]}', '$.a' DEFAULT 'e' ON ERROR),
  JSON_VALUE('{"a": [1]}', '$.a' DEFAULT 'm' ON EMPTY), JSON_VALUE('{bad', '$.a' DEFAULT 'e' ON ERROR), JSON_VALUE('{bad', '$.a' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(CAST(NULL AS STRING), '$.a'), JSON_VALUE('{"a": null}', '$.a' DEFAULT 'm' ON EMPTY);
-- program: exists
SELECT JSON_EXISTS('{"a": null}', '$.a'), JSON_EXISTS('{"a": [1, 2]}', '$.a[1]'), JSON_EXISTS('{"a": [1, 2]}', '$.a[2]'),
  JSON_EXISTS('{"a": 1}', 'strict $.b' TRUE ON ERROR), JSON_EXISTS('{"a": 1}', 'strict $.b' FALSE ON ERROR),
  JSON_EXISTS('{"a": 1}', 'strict $.b' UNKNOWN ON ERROR), JSON_EXISTS('{bad', '$.a' TRUE ON ERROR), JSON_EXISTS(CAST(NULL AS STRING), '$.a'),
  JSON_EXISTS('{"a": [{"b": 1}]}', '$.a[*].b'), JSON_EXISTS('[1]', '$[0]');
-- program: queries
SELECT JSON_QUERY('{"a": {"b": 1}}', '$.a'), JSON_QUERY('{"a": {"b": 1}}', '$.a.b'), JSON_QUERY('{"a": {"b": 1}}', '$.a.b' WITH CONDITIONAL WRAPPER),
  JSON_QUERY('{"a": {"b": 1}}', '$.a' WITH CONDITIONAL WRAPPER), JSON_QUERY('{"a": {"b": 1}}', '$.a' WITH UNCONDITIONAL WRAPPER),
  JSON_QUERY('{"a": [1, 2]}', '$.a' WITH CONDITIONAL WRAPPER), JSON_QUERY('{"a": [1, 2]}', '$.a' WITHOUT WRAPPER),
  JSON_QUERY('{"a": [1, 2]}', '$.a' WITH WRAPPER), JSON_QUERY('{"a": [1, 2]}', '$.z' EMPTY ARRAY ON EMPTY),
  JSON_QUERY('{"a": [1, 2]}', '$.z' EMPTY OBJECT ON EMPTY), JSON_QUERY('{"a": [1, 2]}', '$.z' NULL ON EMPTY),
  JSON_QUERY('{"a": [1, 2]}', 'strict $.z' EMPTY ARRAY ON ERROR), JSON_QUERY('{bad', '$.z' EMPTY OBJECT ON ERROR),
  JSON_QUERY('{"a": "x"}', '$.a' WITH WRAPPER), JSON_QUERY('{"a": [1, "x", null]}', '$.a[*]' WITH WRAPPER),
  JSON_QUERY('{"a": ["x", "y"]}', '$.a' RETURNING ARRAY<STRING>);
-- program: is_json
SELECT s, s IS JSON, s IS NOT JSON, s IS JSON VALUE, s IS JSON SCALAR, s IS JSON OBJECT, s IS JSON ARRAY, s IS NOT JSON ARRAY
FROM (VALUES ('{"a": 1}'), ('[1, 2]'), ('1'), ('"x"'), ('null'), ('x'), (''), ('{a: 1}'), (CAST(NULL AS STRING))) AS t (s);
-- program: objects
SELECT JSON_OBJECT(), JSON_OBJECT('a' VALUE 1), JSON_OBJECT(KEY 'a' VALUE 1.50), JSON_OBJECT('a' VALUE 'x', 'b' VALUE TRUE),
  JSON_OBJECT('a' VALUE CAST(NULL AS INT) NULL ON NULL), JSON_OBJECT('a' VALUE CAST(NULL AS INT) ABSENT ON NULL),
  JSON_OBJECT('a' VALUE JSON_OBJECT('b' VALUE 1)), JSON_OBJECT('a' VALUE JSON_ARRAY(1, 2)), JSON_OBJECT('a' VALUE ARRAY[1, 2]),
  JSON_OBJECT('a' VALUE MAP['x', 1]), JSON_OBJECT('a' VALUE ROW(1, 'y')), JSON_OBJECT('a' VALUE TIMESTAMP '2024-01-01 10:00:00.5'),
  JSON_OBJECT('a' VALUE CAST(1.5 AS DOUBLE)), JSON_OBJECT('a' VALUE 'q"t'), JSON_OBJECT('a' VALUE X'6162'), JSON_OBJECT('b' VALUE 1, 'a' VALUE 2);
-- program: arrays
SELECT JSON_ARRAY(), JSON_ARRAY(1, 'a', TRUE, 1.5), JSON_ARRAY(1, CAST(NULL AS INT)), JSON_ARRAY(1, CAST(NULL AS INT) NULL ON NULL),
  JSON_ARRAY(1, CAST(NULL AS INT) ABSENT ON NULL), JSON_ARRAY(JSON_ARRAY(1), JSON_OBJECT('a' VALUE 1)), JSON_ARRAY(ARRAY[1], MAP['a', 1]),
  JSON_ARRAY('é', '/', '<');
-- program: strings
SELECT JSON_STRING(1), JSON_STRING(TRUE), JSON_STRING('x'), JSON_STRING(CAST(NULL AS STRING)), JSON_STRING(ARRAY[1, 2]), JSON_STRING(MAP['a', 1]),
  JSON_STRING(CAST(ROW(1, 'b') AS ROW<x INT, y STRING>)), JSON_STRING(1.50), JSON_STRING(CAST(1 AS DOUBLE)), JSON_STRING('a/b'), JSON_STRING('é');
-- program: quoting
SELECT JSON_QUOTE('a'), JSON_QUOTE('a"b\c'), JSON_QUOTE('/'), JSON_QUOTE('é'), JSON_QUOTE(CAST(NULL AS STRING)), JSON_UNQUOTE('"a"'),
  JSON_UNQUOTE('"a\"b"'), JSON_UNQUOTE('a'), JSON_UNQUOTE('"\u0041"'), JSON_UNQUOTE(''), JSON_UNQUOTE('{"a": 1}'), JSON_UNQUOTE('"a');
-- program: value_of_a_wrong_path
SELECT JSON_VALUE('{}', 'oops');
-- program: value_that_must_be_there
SELECT JSON_VALUE(j, 'strict $.z' ERROR ON ERROR) FROM (VALUES ('{"a": 1}')) AS t (j);
-- program: value_that_must_not_be_empty
SELECT JSON_VALUE(j, 'lax $.z' ERROR ON EMPTY) FROM (VALUES ('{"a": 1}')) AS t (j);
-- program: query_that_must_be_right
SELECT JSON_QUERY(j, 'lax $' ERROR ON ERROR) FROM (VALUES ('{bad')) AS t (j);
-- program: json_outside_of_an_object
SELECT JSON('{}');
-- program: value_of_a_number
SELECT JSON_VALUE(1, '$.a');
-- program: object_without_a_value
SELECT JSON_OBJECT('a');
-- program: returning_a_date
SELECT JSON_VALUE('{"a": 1}', '$.a' RETURNING DATE);
-- program: object_of_a_date
-- differs: dates and times are texts in JSON
SELECT JSON_OBJECT('a' VALUE DATE '2024-01-01');
-- program: string_of_a_date
-- differs: dates and times are texts in JSON
SELECT JSON_STRING(DATE '2024-01-01');
-- program: string_of_a_timestamp
SELECT JSON_STRING(TIMESTAMP '2024-01-01 10:00:00');
-- program: string_of_a_time
-- differs: dates and times are texts in JSON
SELECT JSON_STRING(TIME '10:00:00');
-- program: values_by_mode
SELECT j,
  JSON_VALUE(j, '$.a' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, '$.z' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, '$.a[0]' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, '$.a.*' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, 'lax $.a' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, 'lax $.z' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, 'lax $.a[0]' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, 'lax $.a.*' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, 'strict $.a' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, 'strict $.z' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, 'strict $.a[0]' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR),
  JSON_VALUE(j, 'strict $.a.*' DEFAULT 'm' ON EMPTY DEFAULT 'e' ON ERROR) FROM (VALUES ('{"a": null}'), ('{"a": 1}'), ('{"a": [1]}'), ('{"a": {"b": 2}}'), ('{bad')) AS t (j);
-- program: values_on_empty_by_mode
SELECT j,
  JSON_VALUE(j, '$.a' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, '$.z' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, '$.a[0]' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, '$.a.*' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, 'lax $.a' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, 'lax $.z' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, 'lax $.a[0]' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, 'lax $.a.*' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, 'strict $.a' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, 'strict $.z' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, 'strict $.a[0]' DEFAULT 'm' ON EMPTY),
  JSON_VALUE(j, 'strict $.a.*' DEFAULT 'm' ON EMPTY) FROM (VALUES ('{"a": null}'), ('{"a": 1}'), ('{"a": [1]}'), ('{"a": {"b": 2}}'), ('{bad')) AS t (j);
-- program: existence_by_mode
SELECT j,
  JSON_EXISTS(j, '$.a' UNKNOWN ON ERROR),
  JSON_EXISTS(j, '$.z' UNKNOWN ON ERROR),
  JSON_EXISTS(j, '$.a[0]' UNKNOWN ON ERROR),
  JSON_EXISTS(j, '$.a.*' UNKNOWN ON ERROR),
  JSON_EXISTS(j, 'lax $.a' UNKNOWN ON ERROR),
  JSON_EXISTS(j, 'lax $.z' UNKNOWN ON ERROR),
  JSON_EXISTS(j, 'lax $.a[0]' UNKNOWN ON ERROR),
  JSON_EXISTS(j, 'lax $.a.*' UNKNOWN ON ERROR),
  JSON_EXISTS(j, 'strict $.a' UNKNOWN ON ERROR),
  JSON_EXISTS(j, 'strict $.z' UNKNOWN ON ERROR),
  JSON_EXISTS(j, 'strict $.a[0]' UNKNOWN ON ERROR),
  JSON_EXISTS(j, 'strict $.a.*' UNKNOWN ON ERROR) FROM (VALUES ('{"a": null}'), ('{"a": 1}'), ('{"a": [1]}'), ('{"a": {"b": 2}}'), ('{bad')) AS t (j);
-- program: queries_by_mode
SELECT j,
  JSON_QUERY(j, '$.a' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.z' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.a[0]' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.a.*' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.z' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a[0]' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a.*' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.z' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a[0]' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a.*' EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR) FROM (VALUES ('{"a": null}'), ('{"a": 1}'), ('{"a": [1]}'), ('{"a": {"b": 2}}'), ('{bad')) AS t (j);
-- program: queries_with_a_conditional_wrapper
SELECT j,
  JSON_QUERY(j, '$.a' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.z' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.a[0]' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.a.*' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.z' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a[0]' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a.*' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.z' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a[0]' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a.*' WITH CONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR) FROM (VALUES ('{"a": null}'), ('{"a": 1}'), ('{"a": [1]}'), ('{"a": {"b": 2}}'), ('{bad')) AS t (j);
-- program: queries_with_a_wrapper
SELECT j,
  JSON_QUERY(j, '$.a' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.z' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.a[0]' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, '$.a.*' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.z' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a[0]' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'lax $.a.*' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.z' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a[0]' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR),
  JSON_QUERY(j, 'strict $.a.*' WITH UNCONDITIONAL WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR) FROM (VALUES ('{"a": null}'), ('{"a": 1}'), ('{"a": [1]}'), ('{"a": {"b": 2}}'), ('{bad')) AS t (j);
-- program: strict_query_of_bad_json
SELECT JSON_QUERY(j, '$' ERROR ON ERROR) FROM (VALUES ('{bad')) AS t (j);
-- program: lax_query_of_bad_json
SELECT JSON_QUERY(j, 'lax $.a' ERROR ON ERROR), JSON_QUERY(j, 'lax $.a' EMPTY ARRAY ON EMPTY) FROM (VALUES ('{bad'), ('{}')) AS t (j);
-- program: lax_existence_in_bad_json
SELECT JSON_EXISTS(j, 'lax $' ERROR ON ERROR) FROM (VALUES ('{bad')) AS t (j);
-- program: numbers_in_documents
SELECT JSON_VALUE(j, '$[0]'), JSON_VALUE(j, '$[1]'), JSON_VALUE(j, '$[2]'), JSON_VALUE(j, '$[3]'), JSON_VALUE(j, '$[4]'), JSON_VALUE(j, '$[5]'), JSON_VALUE(j, '$[6]'), JSON_VALUE(j, '$[7]'), JSON_VALUE(j, '$[8]'), JSON_QUERY(j, '$') FROM (VALUES ('[1e3, 1.50, 1E-10, 12345678901234567890, 0.1e1, -0.0, 1.0, 123456789012345678901234567890.5, 0e0]')) AS t (j);
-- program: more_returning
SELECT JSON_VALUE(j, '$.a' RETURNING INTEGER DEFAULT 7 ON ERROR), JSON_VALUE(j, '$.b' RETURNING DOUBLE), JSON_VALUE(j, '$.c' RETURNING BOOLEAN), JSON_VALUE(j, '$.d' RETURNING DOUBLE) FROM (VALUES ('{"a": 1, "b": 1.5, "c": true, "d": 2e1}')) AS t (j);
-- program: times_and_numbers_in_json
SELECT JSON_OBJECT('a' VALUE TIMESTAMP '2024-01-01 10:00:00'), JSON_OBJECT('a' VALUE TIMESTAMP '2024-01-01 10:00:01.12'), JSON_OBJECT('a' VALUE TIMESTAMP '2024-01-01 10:00:00.123456'),
  JSON_OBJECT('a' VALUE TO_TIMESTAMP_LTZ(1500, 3)), JSON_ARRAY(TIMESTAMP '2024-01-01 10:00:00.000001'), JSON_ARRAY(TO_TIMESTAMP_LTZ(-1, 3)),
  JSON_OBJECT('a' VALUE 1e3), JSON_OBJECT('a' VALUE CAST(1.5e20 AS DOUBLE)), JSON_ARRAY(CAST(1.5 AS FLOAT)), JSON_ARRAY(0.00000001), JSON_ARRAY(CAST('a/b' AS STRING)), JSON_STRING('a/b');
-- program: keys_are_sorted
SELECT JSON_OBJECT('z' VALUE 1, 'b' VALUE 2, 'aa' VALUE 3, 'B' VALUE 4), JSON_OBJECT('a' VALUE CAST(ROW(1, 2) AS ROW<z INT, a INT>)), JSON_OBJECT('a' VALUE MAP['z', 1, 'b', 2]), JSON_OBJECT('a' VALUE 1, 'a' VALUE 2), JSON_STRING(MAP['z', 1, 'b', 2]), JSON_STRING(CAST(ROW(1, 2) AS ROW<z INT, a INT>)),
  JSON_OBJECT('a' VALUE JSON('{"b": [1]}')), JSON_OBJECT('a' VALUE JSON('{"z": [1],  "b": 1.0}')), JSON_ARRAY(JSON('[1, {}]'), JSON(CAST(NULL AS STRING)));
-- program: json_that_is_none
SELECT JSON_OBJECT('a' VALUE JSON(j)) FROM (VALUES ('{bad')) AS t (j);
-- program: returning_another_type
-- differs: Flink's job fails with a ClassCastException; here ON ERROR applies to a value of another type
SELECT JSON_VALUE(j, '$.a' RETURNING INTEGER DEFAULT 7 ON ERROR) FROM (VALUES ('{"a": "x"}')) AS t (j);
-- program: returning_a_double_of_an_integer
-- differs: Flink's job fails with a ClassCastException; here an integer is a DOUBLE too
SELECT JSON_VALUE(j, '$.a' RETURNING DOUBLE) FROM (VALUES ('{"a": 5}')) AS t (j);
-- program: quoting_beyond_the_first_plane
-- differs: Flink writes five hexadecimal digits and half of the character again, so its result is not JSON
SELECT JSON_QUOTE('😀');
-- program: quoting_control_characters
-- differs: Flink does not escape characters below 0x20, so its result is not JSON
SELECT JSON_QUOTE(CHR(1));
