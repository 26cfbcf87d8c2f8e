"""What Flink's documentation has is parsed, or refused with a reason."""

from __future__ import annotations

import pytest

from millrace.sql.errors import SqlParserError
from millrace.sql.parser import (
    parse,
    parse_expression,
    parse_query,
    parse_statement,
    parse_type,
)

STATEMENTS = {
    "Query": [
        "SELECT window_start, city, SUM(fare) FROM TUMBLE(TABLE rides, DESCRIPTOR(t), "
        "INTERVAL '1' HOURS) GROUP BY window_start, window_end, city",
        "SELECT COUNT(*) FROM TABLE(TUMBLE(DATA => TABLE c.d.rides, TIMECOL => DESCRIPTOR(t), "
        "SIZE => INTERVAL '1' HOUR, `OFFSET` => INTERVAL '5' MINUTES)) GROUP BY window_end",
        "SELECT * FROM HOP(TABLE rides, DESCRIPTOR(`at`), INTERVAL '1' MINUTE, INTERVAL '1' DAY)",
        "SELECT COALESCE(city, '-'), MAX(fare) FROM TABLE(CUMULATE(TABLE rides, DESCRIPTOR(t), "
        "INTERVAL '1' HOUR, INTERVAL '1' DAY)) GROUP BY window_end, GROUPING SETS ((city), ())",
        "SELECT * FROM SESSION(TABLE rides PARTITION BY city, DESCRIPTOR(t), INTERVAL '9' MINUTE)",
        "SELECT * FROM scores(input => TABLE rides PARTITION BY city ORDER BY t, uid => 'u', "
        "on_time => DESCRIPTOR(t))",
        "SELECT TUMBLE_END(t, INTERVAL '1' HOUR), TUMBLE_PROCTIME(t, INTERVAL '1' HOUR) FROM rides "
        "GROUP BY TUMBLE(t, INTERVAL '1' HOUR), city",
        "SELECT COUNT(*) FILTER (WHERE fare > 9), COUNT(DISTINCT city) FILTER (WHERE fare < 1), "
        "LISTAGG(city, '|'), AVG(DISTINCT fare) FROM rides GROUP BY day1 HAVING MIN(fare) > 1",
        "SELECT a, b, GROUPING_ID(a, b), SUM(c) FROM t GROUP BY ROLLUP (a, b)",
        "SELECT a, b, SUM(c) FROM t GROUP BY CUBE ((a, b), c)",
        "SELECT SUM(x) OVER w, COUNT(*) OVER (PARTITION BY a ORDER BY t RANGE BETWEEN INTERVAL '2' "
        "DAY PRECEDING AND CURRENT ROW) FROM s WINDOW w AS (ORDER BY t ROWS BETWEEN 5 PRECEDING "
        "AND CURRENT ROW)",
        "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC) AS n FROM t) "
        "WHERE n <= 3",
        "SELECT * FROM (SELECT *, RANK() OVER (PARTITION BY window_end ORDER BY p) n FROM "
        "TABLE(TUMBLE(TABLE b, DESCRIPTOR(t), INTERVAL '10' MINUTES))) WHERE n = 1",
        "SELECT * FROM a, b WHERE a.k = b.k AND a.t BETWEEN b.t - INTERVAL '1' HOUR AND b.t",
        "SELECT o.a, r.x FROM o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.t AS r ON o.c = r.c",
        "SELECT /*+ LOOKUP('table'='c', 'async'='true'), STATE_TTL('o'='2h') BROADCAST(c) */ o.a "
        "FROM o JOIN c FOR SYSTEM_TIME AS OF o.p AS c ON o.k = c.k",
        "SELECT a FROM t /*+ OPTIONS('scan.startup.mode'='latest-offset') */ AS x",
        "SELECT a, w FROM t LEFT JOIN LATERAL TABLE(words(b)) AS u (w, n) ON TRUE",
        "SELECT a, w FROM t, LATERAL TABLE(words(b)) AS u (w)",
        "SELECT * FROM (SELECT DISTINCT a FROM c) x, LATERAL (SELECT b FROM c WHERE c.a = x.a "
        "ORDER BY n DESC LIMIT 3)",
        "SELECT a, e FROM t CROSS JOIN UNNEST(es) AS u (e)",
        "SELECT a, k, v, o FROM t LEFT JOIN UNNEST(m) WITH ORDINALITY AS u (k, v, o) ON TRUE",
        "SELECT a FROM t INTERSECT ALL SELECT a FROM s EXCEPT SELECT a FROM u UNION ALL (SELECT 1)",
        "SELECT * FROM t WHERE a IN (SELECT a FROM s) OR NOT EXISTS (SELECT 1 FROM u WHERE u.a = "
        "t.a)",
        "SELECT * FROM t ORDER BY a, b DESC NULLS LAST OFFSET 4 ROWS FETCH NEXT 2 ROWS ONLY",
        "WITH x (a) AS (SELECT 1), y AS (TABLE x) SELECT * FROM y",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (n, s)",
        "VALUES (1), (2), (3)",
        "SELECT t.r.a, t.r.b.c, xs[1], m['k'], r.* FROM t",
        "SELECT ROW(1, 'a'), (1, 2), ARRAY[1, 2], MAP['a', 1], CAST(NULL AS ROW<a INT>), "
        "TRY_CAST('1' AS BIGINT), a IS NOT DISTINCT FROM b, a IS NOT TRUE FROM t",
        "SELECT TIMESTAMPADD(WEEK, 1, t), TIMESTAMPDIFF(SECOND, a, b), EXTRACT(DOW FROM t), FLOOR("
        "t TO HOUR), CEIL(t TO DAY), POSITION('a' IN b), OVERLAY(a PLACING b FROM 1 FOR 2), "
        "SUBSTRING(a FROM 2 FOR 3), TRIM(BOTH 'x' FROM a), a LIKE 'x!%' ESCAPE '!' FROM t",
        "SELECT a SIMILAR TO 'b', JSON_VALUE(j, '$.a' RETURNING INT NULL ON EMPTY DEFAULT 0 ON "
        "ERROR), JSON_OBJECT(KEY 'a' VALUE 1 NULL ON NULL), j IS NOT JSON ARRAY, (a, b) OVERLAPS "
        "(c, d), CURRENT_WATERMARK(t), U&'\\00e9' FROM t",
        "SELECT INTERVAL '1 02:03' DAY TO MINUTE, INTERVAL '2-3' YEAR TO MONTH, DATE '2020-01-01', "
        "TIMESTAMP '2020-01-01 00:00:00', TIME '10:00:00' FROM t",
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY s ORDER BY t MEASURES FIRST(D.t) AS a, "
        "LAST(D.t) AS b, AVG(D.p) AS c, MATCH_ROWTIME() AS d ONE ROW PER MATCH AFTER MATCH SKIP TO "
        "LAST U PATTERN (S D{1,3}? U*? X+) WITHIN INTERVAL '1' HOUR DEFINE D AS LAST(D.p, 1) IS "
        "NULL OR D.p < LAST(D.p, 1), U AS U.p > PREV(U.p)) AS m",
        "SELECT m.a FROM t MATCH_RECOGNIZE (ORDER BY p MEASURES FINAL LAST(A.x) AS a AFTER MATCH "
        "SKIP PAST LAST ROW PATTERN ((A B) | C{2,}) SUBSET AB = (A, B) DEFINE A AS A.x > "
        "PREV(A.x), B AS SUM(A.x) < 5) AS m",
        "SELECT a, user FROM (SELECT a, `user`, ROW_NUMBER() OVER (PARTITION BY a ORDER BY p) AS n "
        "FROM t) WHERE n = 1",
        "SELECT * FROM ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR(x))",
        "SELECT DISTINCT a FROM t FULL OUTER JOIN s USING (a) WHERE a BETWEEN SYMMETRIC 3 AND 1",
        "SELECT * FROM t NATURAL JOIN s",
        "SELECT ARRAY_AGG(a RESPECT NULLS ORDER BY b, c DESC), ARRAY_AGG(DISTINCT a) FROM t",
    ],
    "CreateModel": [
        "CREATE TEMPORARY MODEL IF NOT EXISTS c.d.m INPUT (x STRING, `y z` ARRAY<DOUBLE>) OUTPUT "
        "(z DOUBLE) COMMENT 'a model' WITH ('provider' = 'p')",
    ],
    "DropModel": ["DROP MODEL IF EXISTS m", "DROP TEMPORARY MODEL c.d.m"],
    "CreateTable": [
        "CREATE TABLE rides (a BIGINT, fare DECIMAL(23, 3), t TIMESTAMP(3), WATERMARK FOR t AS t - "
        "INTERVAL '4' SECOND) WITH ('connector' = 'kafka')",
        "CREATE TABLE IF NOT EXISTS c.d.t (a BIGINT NOT NULL COMMENT 'the id', `offset` BIGINT "
        "METADATA VIRTUAL, r TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', x AS b * c, b DOUBLE, c "
        "INT, p AS PROCTIME(), PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR r AS r) COMMENT 'x' "
        "PARTITIONED BY (a) WITH ('connector'='kafka', 'k.l'='m')",
        "CREATE TABLE t (a BIGINT) DISTRIBUTED BY HASH(a) INTO 4 BUCKETS WITH ('connector'='x')",
        "CREATE TABLE u (WATERMARK FOR t AS t) WITH ('connector'='x') LIKE s (EXCLUDING ALL "
        "INCLUDING GENERATED)",
        "CREATE TEMPORARY TABLE t (a INT) WITH ('connector'='datagen')",
        "CREATE TABLE t WITH ('connector'='print') AS SELECT a, COUNT(*) AS n FROM s GROUP BY a",
        "CREATE TABLE t (b, a) AS SELECT a, b FROM s",
        "CREATE OR REPLACE TABLE t AS SELECT * FROM s",
        "REPLACE TABLE t WITH ('connector'='print') AS SELECT * FROM s",
        "CREATE TABLE t (r ROW<a INT, b ROW<c STRING NOT NULL>, `d e` ARRAY<INT>>, m MAP<STRING, "
        "BIGINT>, ms MULTISET<STRING>, t TIMESTAMP_LTZ(3), b BYTES, v VARCHAR(10), n BINARY(3), d "
        "INTERVAL DAY TO SECOND(3), xs INT ARRAY, w RAW('c', 'x'), z TIMESTAMP(3) WITH LOCAL TIME "
        "ZONE NOT NULL, y DOUBLE PRECISION)",
    ],
    "CreateView": [
        "CREATE TEMPORARY VIEW IF NOT EXISTS v (a, b) COMMENT 'c' AS SELECT x, y FROM t"
    ],
    "CreateCatalog": [
        "CREATE CATALOG IF NOT EXISTS c COMMENT 'x' WITH ('type'='generic_in_memory')"
    ],
    "CreateDatabase": ["CREATE DATABASE IF NOT EXISTS c.d COMMENT 'x' WITH ('a'='b')"],
    "CreateFunction": [
        "CREATE TEMPORARY FUNCTION f AS 'my.module.func' LANGUAGE PYTHON",
        "CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS f AS 'com.x.F' LANGUAGE JAVA USING JAR 'a'",
    ],
    "AlterTable": [
        "ALTER TABLE t ADD (c INT FIRST, WATERMARK FOR t AS t - INTERVAL '1' SECOND)",
        "ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED",
        "ALTER TABLE IF EXISTS t SET ('a'='b')",
        "ALTER TABLE t RESET ('a', 'b')",
        "ALTER TABLE t MODIFY (c BIGINT COMMENT 'x' AFTER a)",
        "ALTER TABLE t RENAME a TO b",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE t DROP (a, b)",
        "ALTER TABLE t DROP WATERMARK",
        "ALTER TABLE t ADD DISTRIBUTION BY HASH(a) INTO 3 BUCKETS",
        "ALTER TABLE t ADD IF NOT EXISTS PARTITION (d = '1') WITH ('k' = 'v') PARTITION (d = '2')",
        "ALTER TABLE t DROP IF EXISTS PARTITION (d = '1'), PARTITION (d = '2')",
    ],
    "AlterModel": [
        "ALTER MODEL m RENAME TO n",
        "ALTER MODEL IF EXISTS a.b.m SET ('task' = 'regression')",
        "ALTER MODEL m RESET ('task', 'version')",
    ],
    "AlterView": ["ALTER VIEW v RENAME TO w", "ALTER VIEW v AS SELECT 1"],
    "AlterDatabase": ["ALTER DATABASE d SET ('a'='b')"],
    "AlterCatalog": ["ALTER CATALOG c SET ('a'='b')", "ALTER CATALOG c COMMENT 'x'"],
    "AlterFunction": ["ALTER TEMPORARY FUNCTION IF EXISTS f AS 'm.f' LANGUAGE PYTHON"],
    "DropTable": ["DROP TEMPORARY TABLE IF EXISTS a.b.c"],
    "DropView": ["DROP VIEW v"],
    "DropCatalog": ["DROP CATALOG IF EXISTS c"],
    "DropDatabase": ["DROP DATABASE IF EXISTS c.d CASCADE"],
    "DropFunction": ["DROP TEMPORARY SYSTEM FUNCTION IF EXISTS f"],
    "UseCatalog": ["USE CATALOG c"],
    "UseDatabase": ["USE c.d"],
    "UseModules": ["USE MODULES core, hive"],
    "LoadModule": ["LOAD MODULE hive WITH ('hive-version'='3.1.3')"],
    "UnloadModule": ["UNLOAD MODULE hive"],
    "SetOption": ["SET 'table.exec.mini-batch.enabled' = 'true'", "SET a.b-c = 5", "SET"],
    "ResetOption": ["RESET 'a.b'", "RESET"],
    "Show": [
        "SHOW TABLES FROM c.d NOT LIKE 'a%'",
        "SHOW USER FUNCTIONS",
        "SHOW COLUMNS FROM t LIKE '%f'",
        "SHOW JOBS",
        "SHOW CURRENT CATALOG",
        "SHOW PARTITIONS t PARTITION (d = 1)",
    ],
    "ShowCreate": ["SHOW CREATE TABLE t"],
    "Describe": [
        "DESCRIBE c.d.t",
        "DESC EXTENDED t",
        "DESCRIBE CATALOG c",
        "DESCRIBE job",
        "DESCRIBE JOB 'a'",
    ],
    "Explain": [
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN SELECT * FROM t",
        "EXPLAIN PLAN FOR SELECT 1",
        "EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT 1; END",
    ],
    "Analyze": ["ANALYZE TABLE t PARTITION(d='1', e) COMPUTE STATISTICS FOR ALL COLUMNS"],
    "TruncateTable": ["TRUNCATE TABLE t"],
    "Delete": ["DELETE FROM t WHERE a = 1"],
    "Update": ["UPDATE t SET a = 1, b = b + 1 WHERE a = 2"],
    "Insert": [
        "INSERT INTO c.d.t (a, b) SELECT a, b FROM s",
        "INSERT OVERWRITE t PARTITION (d = '2020') SELECT a FROM s",
        "INSERT INTO t VALUES (1, 'a', DATE '2020-01-01'), (2, 'b', CAST(NULL AS DATE))",
        "EXECUTE INSERT INTO t /*+ OPTIONS('a'='b') */ SELECT 1",
    ],
    "InsertSet": [
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT * FROM s; INSERT INTO b TABLE s; END;",
        "BEGIN STATEMENT SET; INSERT INTO a SELECT 1 ON CONFLICT DO NOTHING; END;",
    ],
    "StopJob": ["STOP JOB '228d70913eab60dda85c5e7f78b5782c' WITH SAVEPOINT WITH DRAIN"],
    "CompilePlan": [
        "COMPILE PLAN 'file:/p.json' FOR INSERT INTO a SELECT * FROM s",
        "COMPILE AND EXECUTE PLAN 'p.json' FOR INSERT INTO a SELECT * FROM s",
    ],
    "ExecutePlan": ["EXECUTE PLAN 'p.json'"],
    "CallProcedure": ["CALL sys.compact(`table` => 'a.b')"],
    "AddJar": ["ADD JAR '/a.jar'"],
    "RemoveJar": ["REMOVE JAR '/a.jar'"],
}
REFUSED = {
    "CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '3' MINUTE AS SELECT a FROM t": (
        "Millrace has no materialized tables"
    ),
    "CREATE TABLE t (raw RAW('c', 'x'))": "raw is a reserved word: write `raw` in backticks",
    "SELECT t AT TIME ZONE 'UTC' FROM s": "Flink has no AT TIME ZONE",
    "SELECT a FROM t MINUS SELECT a FROM s": "write EXCEPT",
    "SELECT a FROM t TABLESAMPLE BERNOULLI(5)": "Flink has no TABLESAMPLE",
    "SELECT a FROM t WHERE a != 1": "Flink's sign for unequal is <>",
    "SELECT a FROM t WHERE a == 1": "Flink's sign for equal is =",
    "SELECT a FROM t WHERE a = ?": "an expression is expected",
    "SELECT a::INT FROM t": "CAST",
    "SELECT a ILIKE 'b' FROM t": "LOWER",
    'SELECT "a" FROM t': "names in backticks",
    "SELECT a FROM t LIMIT 2, 3": "LIMIT count OFFSET start",
    "WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x": "no recursive queries",
    "CREATE TABLE t (a INT, UNIQUE (a))": "UNIQUE is not supported",
    "ALTER TABLE t ADD (r.f INT AFTER r.e)": "a field of a row cannot be changed alone",
    "EXPLAIN PLAN_ADVICE, PLAN_ADVICE SELECT 1": "named twice",
}
ALL = [(kind, text) for kind, texts in STATEMENTS.items() for text in texts]


@pytest.mark.parametrize(("kind", "text"), ALL)
def test_statements_of_flink_are_parsed(kind: str, text: str) -> None:
    """Each becomes the class of its kind, and knows where it came from."""
    found = parse_statement(text)
    assert type(found).__name__ == kind
    assert found.text == text
    assert found.position is not None


@pytest.mark.parametrize(("text", "reason"), list(REFUSED.items()))
def test_what_is_refused_has_a_reason(text: str, reason: str) -> None:
    """What Flink has not, or Millrace has not, is told."""
    with pytest.raises(SqlParserError) as refused:
        parse_statement(text)
    assert reason in refused.value.reason
    assert "\n" in str(refused.value)


MISTAKES = [
    ("SELECT a FORM t WHERE b", 10, "'t' is not expected after FORM; did you mean FROM?"),
    ("SELEC a", 1, "'SELEC' is not expected here; did you mean SELECT?"),
    ("SELECT a FROM t GRUOP BY a", 17, "did you mean GROUP?"),
    ("CREAT TABLE t (a INT)", 1, "did you mean CREATE?"),
    ("SHOW TABELS", 6, "did you mean TABLES?"),
    ("SELECT order FROM t", 8, "order is a reserved word: write `order` in backticks"),
    ("SELECT (1 + 2", 14, "the end of the statement is not expected here; ) is expected"),
    ("SELECT a, FROM t", 11, "an expression is expected"),
    ("SELECT 'abc", 8, "this text has no end"),
    ("SELECT /* a", 8, "this comment has no end"),
    ("CREATE TABLE t (a INT, b FOO)", 26, "'FOO' is not a type"),
    ("SELECT COUNT(* FROM t", 16, ") is expected"),
    ("SELECT a FROM t ORDER a", 23, "BY is expected"),
    ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, PRIMARY KEY (a))", 49, "second"),
    ("CREATE TABLE t (a INT) WITH ('k'='v', 'k'='w')", 39, "'k' is set twice"),
    ("SELECT 1; SELECT 2", 1, "one statement is expected, not 2 statements"),
    ("-- nothing", 11, "not no statement"),
]


@pytest.mark.parametrize(("text", "column", "reason"), MISTAKES)
def test_mistakes_are_told_with_place_and_advice(text: str, column: int, reason: str) -> None:
    """The column of the mistake, and the nearest word."""
    with pytest.raises(SqlParserError) as refused:
        parse_statement(text)
    assert reason in refused.value.reason
    assert (refused.value.line, refused.value.column) == (1, column)


def test_errors_show_their_line() -> None:
    """Only the line with the mistake is shown."""
    with pytest.raises(SqlParserError) as refused:
        parse("SELECT 1;\n\nSELECT a\n  FORM t\n")
    assert str(refused.value) == (
        "line 4, column 3: 't' is not expected after FORM; did you mean FROM?\n  FORM t\n  ^^^^"
    )


def test_several_statements_with_comments() -> None:
    """Semicolons in texts and comments separate nothing."""
    found = parse("-- a;\nSELECT ';' /* ; */; ;\nUSE d // ;\n")
    assert [type(statement).__name__ for statement in found] == ["Query", "UseDatabase"]
    assert parse(" ;; ") == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 10_000 + "1" + ")" * 10_000,
        "(" * 10_000,
        "SELECT " + "- " * 10_000 + "1",
        "SELECT " + "NOT " * 10_000 + "TRUE",
        "SELECT " + "f(" * 10_000 + "1" + ")" * 10_000,
        "SELECT * FROM " + "(SELECT * FROM " * 10_000 + "t" + ")" * 10_000,
        "SELECT " + "CASE " * 10_000,
        "SELECT " + "ARRAY[" * 10_000,
        "SELECT CAST(NULL AS " + "ARRAY<" * 10_000 + "INT" + ">" * 10_000 + ")",
        "SELECT a" + "[1" * 10_000,
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (" + "(" * 10_000,
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    """No stack overflows, and it takes no time."""
    with pytest.raises(SqlParserError, match="nested in more than"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "1 + " * 10_000 + "1",
        "SELECT 1" + " UNION ALL SELECT 1" * 10_000,
        "SELECT 1" + " INTERSECT SELECT 1" * 10_000,
        "SELECT * FROM t" + ", t" * 10_000,
        "SELECT * FROM t" + " CROSS JOIN t" * 10_000,
        "SELECT a" + "[1]" * 10_000,
    ],
)
def test_long_chains_are_refused(text: str) -> None:
    """They would be trees too deep for rules that call themselves."""
    with pytest.raises(SqlParserError, match="more than 200 .* follow each other"):
        parse(text)


def test_long_lists_of_conditions_stay_shallow() -> None:
    """Programs write conditions of thousands of parts; recursion can walk them."""
    found = parse_expression(" OR ".join(f"a = {number}" for number in range(5000)))
    assert len(list(found.find_all(type(parse_expression("a = 1"))))) == 5000
    depth, node = 0, found
    while node.key == "or":
        depth, node = depth + 1, node.this
    assert depth <= 40


def test_types_by_their_text() -> None:
    """As in CAST, with the place of a mistake."""
    assert str(parse_type("row<a int not null, b string>")) == "ROW<`a` INT NOT NULL, `b` STRING>"
    with pytest.raises(SqlParserError, match="not a type"):
        parse_type("ROW<a FOO>")


def test_queries_and_expressions_alone() -> None:
    """Nothing may follow them."""
    assert parse_query("SELECT 1;").key == "select"
    with pytest.raises(SqlParserError, match="not expected"):
        parse_query("SELECT 1; SELECT 2")
    with pytest.raises(SqlParserError, match="not expected"):
        parse_expression("a b")
