CREATE TABLE people (id INT, name STRING, tags ARRAY<STRING>, scores MAP<STRING, INT>,
  home ROW<street STRING, zip INT>)
WITH ('connector' = 'filesystem', 'path' = '${data}/people.json', 'format' = 'json');

-- program: all_columns
SELECT id, name, CAST(tags AS STRING), CAST(scores AS STRING), CAST(home AS STRING) FROM people;
-- program: nested_access
SELECT id, home.street, p.home.zip, tags[1], scores['x'] FROM people p;
-- program: expand_a_row
SELECT id, people.home.* FROM people WHERE id < 3;
-- program: filter_by_nested
SELECT id FROM people WHERE home.zip > 4 AND CARDINALITY(tags) > 1;
-- program: group_by_array
SELECT CAST(tags AS STRING), n FROM (SELECT tags, COUNT(*) AS n FROM people GROUP BY tags);
-- program: array_in_distinct
SELECT CAST(home AS STRING) FROM (SELECT DISTINCT home FROM people);
