-- program: arrays_and_nulls
SELECT CARDINALITY(a), CAST(a[1] AS STRING), CAST(a[3] AS STRING), ARRAY_CONTAINS(a, 2), ARRAY_CONTAINS(a, 9), ARRAY_CONTAINS(a, CAST(NULL AS INT)),
  CAST(ARRAY_DISTINCT(a) AS STRING), ARRAY_POSITION(a, 2), ARRAY_POSITION(a, 9), CAST(ARRAY_REMOVE(a, 2) AS STRING), CAST(ARRAY_REVERSE(a) AS STRING),
  CAST(ARRAY_UNION(a, ARRAY[7, 2]) AS STRING), CAST(ARRAY_CONCAT(a, ARRAY[7]) AS STRING), CAST(ARRAY_MAX(a) AS STRING), CAST(ARRAY_MIN(a) AS STRING),
  CAST(ARRAY_SORT(a) AS STRING), CAST(ARRAY_APPEND(a, 9) AS STRING), CAST(ARRAY_PREPEND(a, 9) AS STRING), CAST(ARRAY_EXCEPT(a, ARRAY[2]) AS STRING),
  CAST(ARRAY_INTERSECT(a, ARRAY[2, 5]) AS STRING), CAST(ARRAY_SLICE(a, 2, 3) AS STRING)
FROM (VALUES (ARRAY[1, 2, CAST(NULL AS INT), 2]), (CAST(NULL AS ARRAY<INT>))) AS t (a);
-- program: array_slices
SELECT ARRAY_SLICE(ARRAY[1, 2, 3, 4, 5], 2), ARRAY_SLICE(ARRAY[1, 2, 3, 4, 5], -2, -1), ARRAY_SLICE(ARRAY[1, 2, 3, 4, 5], 0, 2),
  ARRAY_SLICE(ARRAY[1, 2, 3, 4, 5], 4, 2), ARRAY_SLICE(ARRAY[1, 2, 3, 4, 5], 9, 12), ARRAY_SLICE(ARRAY[1, 2, 3, 4, 5], 3, 99),
  ARRAY_SLICE(ARRAY[1, 2, 3, 4, 5], -99, 2);
-- program: array_sorts
SELECT CAST(ARRAY_SORT(ARRAY[3, 1, 2], FALSE) AS STRING), CAST(ARRAY_SORT(ARRAY[3, CAST(NULL AS INT), 2], FALSE) AS STRING),
  CAST(ARRAY_SORT(ARRAY[3, CAST(NULL AS INT), 2], TRUE, FALSE) AS STRING), CAST(ARRAY_SORT(ARRAY[3, CAST(NULL AS INT), 2], FALSE, TRUE) AS STRING),
  CAST(ARRAY_SORT(ARRAY['b', 'a', 'C']) AS STRING), CAST(ARRAY_SORT(ARRAY[2.5, 1.5]) AS STRING),
  CAST(ARRAY_SORT(ARRAY[DATE '2024-05-01', DATE '2024-01-01']) AS STRING);
-- program: array_joins
SELECT ARRAY_JOIN(ARRAY['a', CAST(NULL AS STRING), 'b'], '-'), ARRAY_JOIN(ARRAY['a', CAST(NULL AS STRING), 'b'], '-', '?'),
  ARRAY_JOIN(ARRAY['a'], '-'), ARRAY_JOIN(CAST(NULL AS ARRAY<STRING>), '-'), ARRAY_JOIN(ARRAY['a', 'b'], CAST(NULL AS STRING));
-- program: array_of_arrays
SELECT ARRAY[ARRAY[1, 2], ARRAY[3]][2][1], ARRAY_CONCAT(ARRAY[ARRAY[1]], ARRAY[ARRAY[2]]), ARRAY_CONTAINS(ARRAY[ARRAY[1], ARRAY[2]], ARRAY[2]),
  ARRAY_DISTINCT(ARRAY[ARRAY[1], ARRAY[1]]), CARDINALITY(ARRAY[ARRAY[1, 2], ARRAY[3]]), ARRAY_REVERSE(ARRAY['x', 'y']),
  ARRAY_CONCAT(ARRAY[1], ARRAY[2], ARRAY[3, 4]), ARRAY_UNION(ARRAY['a'], ARRAY['b', 'a']), ARRAY_MAX(ARRAY['b', 'c', 'a']),
  ARRAY_MIN(ARRAY[DATE '2024-05-01', DATE '2024-01-01']), ARRAY_MAX(ARRAY[1.5, 2.25]);
-- program: element
SELECT ELEMENT(ARRAY[5]), ELEMENT(CAST(NULL AS ARRAY<INT>)), ELEMENT(ARRAY['a']);
-- program: types_of_array_functions
SELECT TYPEOF(ARRAY_APPEND(ARRAY[1], 2)), TYPEOF(ARRAY_CONCAT(ARRAY[1], ARRAY[2])), TYPEOF(ARRAY_DISTINCT(ARRAY[1])), TYPEOF(ARRAY_MAX(ARRAY[1])),
  TYPEOF(ARRAY_POSITION(ARRAY[1], 1)), TYPEOF(CARDINALITY(ARRAY[1])), TYPEOF(ARRAY[1][1]);
-- program: append_a_wider_number
-- differs: arrays of different numbers have a common type, as in ARRAY_CONCAT
SELECT ARRAY_APPEND(ARRAY[1], CAST(2 AS BIGINT));
-- program: concatenate_wider_numbers
SELECT ARRAY_CONCAT(ARRAY[1], ARRAY[CAST(2 AS BIGINT)]);
-- program: union_with_decimals
SELECT ARRAY_UNION(ARRAY[1], ARRAY[2.5]);
-- program: contains_a_wider_number
-- differs: arrays of different numbers have a common type, as in ARRAY_CONCAT
SELECT ARRAY_CONTAINS(ARRAY[1, 2], CAST(2 AS BIGINT));
-- program: append_a_longer_text
-- differs: Flink cuts the text to the CHAR(1) of the array's elements
SELECT ARRAY_APPEND(ARRAY['a'], 'bcd');
-- program: append_a_null
SELECT CAST(ARRAY_APPEND(ARRAY[1], CAST(NULL AS INT)) AS STRING);
-- program: array_index_of_a_column
-- differs: a missing element is NULL, even if its type is NOT NULL; Flink gives -1
SELECT x, ARRAY[1, 2][x] FROM (VALUES (1), (2), (3)) AS t (x);
-- program: array_index_of_a_column_below_one
-- differs: a missing element is NULL, even if its type is NOT NULL; Flink gives -1
SELECT x, ARRAY[1, 2][x] FROM (VALUES (0)) AS t (x);
-- program: map_key_of_a_wider_number
-- differs: a missing element is NULL, even if its type is NOT NULL; Flink gives -1
SELECT MAP[1, 'x'][CAST(1 AS BIGINT)], MAP['ab', 1]['ab '], MAP[1, 'x'][CAST(NULL AS INT)];
-- program: array_of_mixed_types
SELECT ARRAY[1, 2.5], ARRAY[CAST(1 AS BIGINT), 2], ARRAY['a', 'bcd'], TYPEOF(ARRAY[1, 2.5]), TYPEOF(ARRAY['a', 'bcd']), TYPEOF(MAP['a', 1, 'bc', 2.5]);
-- program: array_of_a_number_and_a_text
SELECT ARRAY[1, 'a'];
-- program: nested_casts
SELECT CAST(ARRAY[1, 2] AS ARRAY<STRING>), CAST(CAST(ARRAY[1.7, -2.2] AS ARRAY<INT>) AS STRING), CAST(MAP['a', 1] AS MAP<STRING, DOUBLE>),
  CAST(CAST(ROW(1, ARRAY['5']) AS ROW<a STRING, b ARRAY<INT>>) AS STRING), CAST(MAP['a', ARRAY[1, CAST(NULL AS INT)]] AS STRING);
-- program: equality_of_collections
SELECT ARRAY[1, 2] = ARRAY[1, 2], ARRAY[1, 2] <> ARRAY[2, 1], MAP['a', 1] = MAP['a', 1], ROW(1, 'a') = ROW(1, 'a'), ROW(1, 2) = ROW(1, 3);
-- program: nested_nulls_in_equality
SELECT ARRAY[1, CAST(NULL AS INT)] = ARRAY[1, CAST(NULL AS INT)], ROW(1, CAST(NULL AS INT)) = ROW(1, CAST(NULL AS INT)), ROW(1, CAST(NULL AS INT)) IS NULL;
-- program: order_of_arrays_is_refused
SELECT ARRAY[1, 2] < ARRAY[1, 3];
-- program: group_by_a_collection
SELECT a, COUNT(*) FROM (VALUES (ARRAY[1, 2]), (ARRAY[1, 2]), (ARRAY[2])) AS t (a) GROUP BY a;
-- program: group_by_a_map
SELECT CAST(m AS STRING), COUNT(*) FROM (VALUES (MAP['a', 1]), (MAP['a', 1])) AS t (m) GROUP BY m;
-- program: group_by_a_row
SELECT CAST(r AS STRING), COUNT(*) FROM (SELECT CAST(ROW(a, b) AS ROW<x INT, y INT>) AS r FROM (VALUES (1, 2), (1, 2), (1, 3)) AS t (a, b)) GROUP BY r;
-- program: distinct_arrays
SELECT DISTINCT a FROM (VALUES (ARRAY['x']), (ARRAY['x']), (ARRAY['y'])) AS t (a);
-- program: maps_and_nulls
SELECT CAST(m AS STRING), CARDINALITY(m), CAST(m['a'] AS STRING), CAST(m['b'] AS STRING), CAST(MAP_UNION(m, MAP['a', 9]) AS STRING),
  CAST(MAP_KEYS(m) AS STRING), CAST(MAP_VALUES(m) AS STRING), CAST(MAP_ENTRIES(m) AS STRING)
FROM (VALUES (MAP['a', 1, 'b', CAST(NULL AS INT)]), (CAST(NULL AS MAP<STRING, INT>))) AS t (m);
-- program: more_maps
SELECT MAP_FROM_ARRAYS(ARRAY['a', 'b'], ARRAY[1, 2]), MAP_FROM_ARRAYS(ARRAY['a', 'a'], ARRAY[1, 2]), MAP[1, 'x', 2, 'y'][2],
  MAP['a', MAP['b', 1]]['a']['b'], MAP['a', ARRAY[1, 2]]['a'][2], MAP['a', 1, 'a', 2], MAP_UNION(MAP['a', 1], MAP['b', 2], MAP['a', 3]),
  CARDINALITY(MAP['a', 1, 'a', 2]), TYPEOF(MAP_KEYS(MAP['a', 1])), TYPEOF(MAP_VALUES(MAP['a', 1])), TYPEOF(MAP_ENTRIES(MAP['a', 1])),
  TYPEOF(MAP['a', 1]['a']);
-- program: split
SELECT SPLIT('a,b,c', ','), SPLIT('a,,c', ','), SPLIT('', ','), SPLIT('abc', ''), SPLIT('abc', 'x'), SPLIT(CAST(NULL AS STRING), ','),
  SPLIT('a|b', '|'), SPLIT('a.b', '.');
-- program: rows
SELECT CAST(ROW(1, 'a') AS STRING), CAST(ROW(1, ROW(2, 'x')) AS STRING), CAST(CAST(ROW(1, 'a') AS ROW<x INT, y STRING>).x AS STRING),
  CAST(ROW(CAST(NULL AS INT), 2) AS STRING), CAST((1, 'a') AS STRING), TYPEOF(ROW(1, 'a')), TYPEOF(CAST(ROW(1, 'a') AS ROW<x INT, y STRING>)),
  CAST(ARRAY[ROW(1, 'a'), ROW(2, 'b')] AS STRING), CAST(MAP['k', ROW(1, 2)] AS STRING);
-- program: fields_of_nested_values
SELECT r.a, r.b.c, r.b.d[2], r.b FROM (SELECT CAST(ROW(1, ROW('s', ARRAY[10, 20])) AS ROW<a INT, b ROW<c STRING, d ARRAY<INT>>>) AS r);
-- program: null_rows
SELECT r.a, t.r.b, r IS NULL FROM (VALUES (CAST(NULL AS ROW<a INT, b STRING>))) AS t (r);
-- program: empty_slice_start
SELECT ARRAY_SLICE(ARRAY[1, 2]);
-- program: element_of_two
SELECT ELEMENT(ARRAY[1, 2]);
-- program: array_index_zero
SELECT a[0] FROM (VALUES (ARRAY[1])) AS t (a);
-- program: array_index_negative
SELECT ARRAY[1, 2][-1];
-- program: index_of_a_number
SELECT 1[1];
-- program: text_as_index
SELECT ARRAY[1]['a'];
-- program: uneven_arrays
SELECT MAP_FROM_ARRAYS(ARRAY['a'], ARRAY[1, 2]);
-- program: contains_other_type
SELECT ARRAY_CONTAINS(ARRAY[1], 'a');
-- program: concat_of_other_types
SELECT ARRAY_CONCAT(ARRAY[1], ARRAY['a']);
-- program: no_such_field
SELECT r.z FROM (SELECT CAST(ROW(1) AS ROW<a INT>) AS r);
-- program: cardinality_of_a_number
SELECT CARDINALITY(1);
-- program: join_of_numbers
SELECT ARRAY_JOIN(ARRAY[1, 2], '-');
-- program: map_key_of_another_type
SELECT MAP['a', 1][1];
-- program: object_of_fields
SELECT OBJECT_OF('shop.Item', 'name', 'pen', 'n', 2).n;
-- program: field_of_an_object
SELECT OBJECT_OF('shop.Item', 'name', s, 'n', n).name FROM (VALUES ('pen', 1), (CAST(NULL AS STRING), 2)) AS t (s, n);
-- program: object_updated
SELECT OBJECT_UPDATE(OBJECT_OF('shop.Item', 'name', 'pen', 'n', 2), 'n', 3).n;
-- program: object_of_half_a_pair
SELECT OBJECT_OF('shop.Item', 'name');
-- program: object_updated_without_such_a_field
SELECT OBJECT_UPDATE(OBJECT_OF('shop.Item', 'name', 'pen'), 'nme', 'ink');
-- program: object_of_the_same_name_twice
SELECT OBJECT_OF('shop.Item', 'name', 'pen', 'name', 'ink');
