"""Flink's page "Expressions" of the Table API: methods of expressions, by what they work on."""

from conformance.table_data import table
from conformance.table_program import differs, twin
from pyflink.table import DataTypes
from pyflink.table.expression import (
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from pyflink.table.expressions import (
    array,
    atan2,
    call,
    col,
    concat,
    concat_ws,
    date_format,
    json_string,
    lit,
    map_,
    map_from_arrays,
    negative,
    pi,
    temporal_overlaps,
    timestamp_diff,
    to_date,
    to_timestamp,
    to_timestamp_ltz,
)


def _names(t_env):
    return table(t_env, "customers").where(col("age").is_not_null)


@twin("SELECT age = 31, age <> 31, age > 31, age >= 31, age < 31, age <= 31 FROM customers")
def comparison(t_env):
    age = col("age")
    return table(t_env, "customers").select(
        age == 31, age != 31, age > 31, age >= 31, age < 31, age <= 31
    )


@twin("SELECT age IS NULL, age IS NOT NULL, IFNULL(age, -1), (age > 30) IS TRUE FROM customers")
def nulls(t_env):
    age = col("age")
    return table(t_env, "customers").select(
        age.is_null, age.is_not_null, age.if_null(-1), (age > 30).is_true
    )


@twin(
    "SELECT (age > 30) IS TRUE, (age > 30) IS FALSE, (age > 30) IS NOT TRUE, (age > 30) IS "
    "NOT FALSE FROM customers"
)
def three_values(t_env):
    old = col("age") > 30
    return table(t_env, "customers").select(
        old.is_true, old.is_false, old.is_not_true, old.is_not_false
    )


@twin("SELECT NOT (age > 30) FROM customers")
@differs("NOT of NULL is NULL, as in SQL")
def not_of_unknown(t_env):
    return table(t_env, "customers").select(~(col("age") > 30))


@twin("SELECT age BETWEEN 28 AND 31, age NOT BETWEEN 28 AND 31 FROM customers")
def between(t_env):
    age = col("age")
    return table(t_env, "customers").select(age.between(28, 31), age.not_between(28, 31))


@twin("SELECT name IN ('ada', 'bob'), age IN (31, 45) FROM customers")
def in_constants(t_env):
    return table(t_env, "customers").select(col("name").in_("ada", "bob"), col("age").in_(31, 45))


@twin(
    "SELECT id + 1, 10 - id, id * price, price / 3, id / 2, id % 3, -id, -price FROM orders "
    "WHERE id < 8"
)
def arithmetic(t_env):
    id, price = col("id"), col("price")
    return (
        table(t_env, "orders")
        .where(id < 8)
        .select(id + 1, 10 - id, id * price, price / 3, id / 2, id % 3, -id, negative(price))
    )


@twin(
    "SELECT FLOOR(price), CEIL(price), ROUND(price, 1), ABS(price), SIGN(price) FROM orders "
    "WHERE id < 8"
)
def rounding(t_env):
    price = col("price")
    return (
        table(t_env, "orders")
        .where(col("id") < 8)
        .select(price.floor(), price.ceil(), price.round(1), price.abs, price.sign)
    )


@twin("SELECT TRUNCATE(price, 1), TRUNCATE(price, 0) FROM orders WHERE id < 8")
def truncated(t_env):
    price = col("price")
    return table(t_env, "orders").where(col("id") < 8).select(price.truncate(1), price.truncate())


@twin(
    "SELECT POWER(amount, 2), SQRT(amount), EXP(amount), LN(amount), LOG10(amount), "
    "LOG2(amount), LOG(3, amount) FROM orders WHERE id < 8"
)
def powers(t_env):
    amount = col("amount")
    return (
        table(t_env, "orders")
        .where(col("id") < 8)
        .select(
            amount**2, amount.sqrt, amount.exp, amount.ln, amount.log10, amount.log2, amount.log(3)
        )
    )


@twin(
    "SELECT SIN(amount), COS(amount), TAN(amount), COT(amount), SINH(amount), TANH(amount), "
    "DEGREES(amount), RADIANS(amount), ATAN2(amount, 2), ASIN(amount / 10e0), PI() FROM "
    "orders WHERE id < 4"
)
def trigonometry(t_env):
    amount = col("amount")
    return (
        table(t_env, "orders")
        .where(col("id") < 4)
        .select(
            amount.sin,
            amount.cos,
            amount.tan,
            amount.cot,
            amount.sinh,
            amount.tanh,
            amount.degrees,
            amount.radians,
            atan2(amount, 2),
            (amount / 10.0).asin,
            pi(),
        )
    )


@twin("SELECT BIN(id), HEX(id) FROM orders WHERE id < 20")
def numbers_as_texts(t_env):
    return table(t_env, "orders").where(col("id") < 20).select(col("id").bin, col("id").hex)


@twin("SELECT UNHEX('61'), HEX('name') FROM customers WHERE age IS NOT NULL")
def texts_as_numbers(t_env):
    return _names(t_env).select(lit("61").unhex, lit("name").hex)


@twin(
    "SELECT UPPER(name), LOWER(name), INITCAP(name), REVERSE(name) FROM customers WHERE age "
    "IS NOT NULL"
)
def texts(t_env):
    name = col("name")
    return _names(t_env).select(name.upper_case, name.lower_case, name.init_cap, name.reverse)


@twin("SELECT CHAR_LENGTH(name), REPEAT(city, 2) FROM customers WHERE age IS NOT NULL")
def lengths(t_env):
    return _names(t_env).select(col("name").char_length, col("city").repeat(2))


@twin(
    "SELECT SUBSTRING(city, 2), SUBSTRING(city, 2, 2), LEFT(city, 2), RIGHT(city, 3), "
    "POSITION(city IN 'o'), LOCATE(city, 'o'), INSTR(city, 's'), SPLIT_INDEX(city, 's', 0) "
    "FROM customers WHERE age IS NOT NULL"
)
def parts_of_texts(t_env):
    city = col("city")
    return _names(t_env).select(
        city.substring(2),
        city.substring(2, 2),
        city.left(2),
        city.right(3),
        city.position("o"),
        city.locate("o"),
        city.instr("s"),
        city.split_index("s", 0),
    )


@twin(
    "SELECT TRIM(BOTH ' ' FROM '  mill  '), TRIM(LEADING ' ' FROM '  mill  '), TRIM(TRAILING "
    "' ' FROM '  mill  '), TRIM(BOTH 'x' FROM 'xxax') FROM customers WHERE age IS NOT NULL"
)
def trimmed(t_env):
    text = lit("  mill  ")
    return _names(t_env).select(
        text.trim(), text.trim_leading(), text.trim_trailing(), lit("xxax").trim("x")
    )


@twin(
    "SELECT LTRIM(' a '), RTRIM(' a '), LTRIM('xxax', 'x'), BTRIM('xax', 'x') FROM customers "
    "WHERE age IS NOT NULL"
)
def trimmed_sides(t_env):
    return _names(t_env).select(
        lit(" a ").ltrim(), lit(" a ").rtrim(), lit("xxax").ltrim("x"), lit("xax").btrim("x")
    )


@twin(
    "SELECT LPAD(name, 6, '*'), RPAD(name, 6, '-'), OVERLAY(name PLACING 'XX' FROM 2 FOR 1), "
    "REPLACE(name, 'a', 'o'), TRANSLATE(name, 'ab', 'xy') FROM customers WHERE age IS NOT "
    "NULL"
)
def padded(t_env):
    return _names(t_env).select(
        col("name").lpad(6, "*"),
        col("name").rpad(6, "-"),
        col("name").overlay("XX", 2, 1),
        col("name").replace("a", "o"),
        col("name").translate("ab", "xy"),
    )


@twin(
    "SELECT city LIKE '%o%', city SIMILAR TO '(Rome|Oslo)', REGEXP(city, '^[A-O]'), "
    "REGEXP_REPLACE(city, '[aeiou]', '_'), REGEXP_EXTRACT(city, '([A-Z])(.)', 2), "
    "REGEXP_COUNT(city, '[os]') FROM customers WHERE age IS NOT NULL"
)
def patterns(t_env):
    city = col("city")
    return _names(t_env).select(
        city.like("%o%"),
        city.similar("(Rome|Oslo)"),
        city.regexp("^[A-O]"),
        city.regexp_replace("[aeiou]", "_"),
        city.regexp_extract("([A-Z])(.)", 2),
        city.regexp_count("[os]"),
    )


@twin("SELECT STARTSWITH(city, 'O'), ENDSWITH(city, 'o') FROM customers WHERE age IS NOT NULL")
def starts_and_ends(t_env):
    return _names(t_env).select(col("city").starts_with("O"), col("city").ends_with("o"))


@twin("SELECT CONCAT(name, '-', city), CONCAT_WS('/', name, city, 'x') FROM customers")
def concatenated(t_env):
    return table(t_env, "customers").select(
        concat(col("name"), "-", col("city")), concat_ws("/", col("name"), col("city"), "x")
    )


@twin("SELECT name || '!', city || name, name || CAST(1 AS STRING) FROM customers")
def added_texts(t_env):
    return table(t_env, "customers").select(
        col("name") + "!", col("city") + col("name"), col("name") + 1
    )


@twin("SELECT 'n' || CAST(age AS STRING) FROM customers")
@differs("a text and NULL are NULL, as in SQL")
def added_to_nothing(t_env):
    return table(t_env, "customers").select(lit("n") + col("age"))


@twin(
    "SELECT MD5(name), SHA1(name), SHA256(name), SHA2(name, 224) FROM customers WHERE age IS "
    "NOT NULL"
)
def hashes(t_env):
    name = col("name")
    return _names(t_env).select(name.md5, name.sha1, name.sha256, name.sha2(224))


@twin("SELECT TO_BASE64(name), FROM_BASE64(TO_BASE64(name)) FROM customers WHERE age IS NOT NULL")
def encoded(t_env):
    name = col("name")
    return _names(t_env).select(name.to_base64, name.to_base64.from_base64)


@twin("SELECT DECODE(ENCODE(name, 'UTF-8'), 'UTF-8') FROM customers WHERE age IS NOT NULL")
def encoded_in_a_character_set(t_env):
    return _names(t_env).select(col("name").encode("UTF-8").decode("UTF-8"))


@twin("SELECT URL_ENCODE('a b&c'), URL_DECODE('a+b%26c') FROM customers WHERE age IS NOT NULL")
def encoded_for_urls(t_env):
    return _names(t_env).select(lit("a b&c").url_encode(), lit("a+b%26c").url_decode())


@twin(
    "SELECT PARSE_URL('https://flink.apache.org/path?x=1&y=2#top', 'HOST'), "
    "PARSE_URL('https://flink.apache.org/path?x=1&y=2#top', 'QUERY'), "
    "PARSE_URL('https://flink.apache.org/path?x=1&y=2#top', 'QUERY', 'y'), "
    "PARSE_URL('https://flink.apache.org/path?x=1&y=2#top', 'PATH') FROM customers WHERE age "
    "IS NOT NULL"
)
def parsed_urls(t_env):
    url = lit("https://flink.apache.org/path?x=1&y=2#top")
    return _names(t_env).select(
        url.parse_url("HOST"),
        url.parse_url("QUERY"),
        url.parse_url("QUERY", "y"),
        url.parse_url("PATH"),
    )


@twin(
    "SELECT CAST(price AS INT) AS `price-INT`, CAST(id AS STRING) AS `id-STRING`, "
    "CAST(amount AS DECIMAL(6, 3)) AS `amount-DECIMAL(6, 3)`, CAST('12' AS BIGINT), "
    "CAST(amount AS BOOLEAN) AS `amount-BOOLEAN`, CAST('true' AS BOOLEAN) FROM orders WHERE "
    "id < 5"
)
def cast(t_env):
    return (
        table(t_env, "orders")
        .where(col("id") < 5)
        .select(
            col("price").cast(DataTypes.INT()),
            col("id").cast(DataTypes.STRING()),
            col("amount").cast(DataTypes.DECIMAL(6, 3)),
            lit("12").cast(DataTypes.BIGINT()),
            col("amount").cast(DataTypes.BOOLEAN()),
            lit("true").cast(DataTypes.BOOLEAN()),
        )
    )


@twin(
    "SELECT TRY_CAST(name AS INT) AS `name-INT`, TRY_CAST(age AS STRING) AS `age-STRING`, "
    "TRY_CAST('2024-02-30' AS DATE) FROM customers"
)
def try_cast(t_env):
    return table(t_env, "customers").select(
        col("name").try_cast(DataTypes.INT()),
        col("age").try_cast(DataTypes.STRING()),
        lit("2024-02-30").try_cast(DataTypes.DATE()),
    )


@twin("SELECT GREATEST(id, amount), LEAST(id, amount, 3) FROM orders WHERE id < 6")
def greatest_and_least(t_env):
    return (
        table(t_env, "orders")
        .where(col("id") < 6)
        .select(
            call("GREATEST", col("id"), col("amount")), call("LEAST", col("id"), col("amount"), 3)
        )
    )


@twin(
    "SELECT CAST('2024-02-29' AS DATE), CAST('2024-02-29' AS DATE) + INTERVAL '1' YEAR, "
    "CAST('2024-02-29' AS DATE) - INTERVAL '2' MONTH, CAST('2024-02-29' AS DATE) + INTERVAL "
    "'10' DAY, EXTRACT(YEAR FROM CAST('2024-02-29' AS DATE)), EXTRACT(QUARTER FROM "
    "CAST('2024-02-29' AS DATE)), EXTRACT(WEEK FROM CAST('2024-02-29' AS DATE)) FROM "
    "customers WHERE age IS NOT NULL"
)
def dates(t_env):
    day = lit("2024-02-29").to_date
    return _names(t_env).select(
        day,
        day + lit(1).years,
        day - lit(2).months,
        day + lit(10).days,
        day.extract(TimeIntervalUnit.YEAR),
        day.extract(TimeIntervalUnit.QUARTER),
        day.extract(TimeIntervalUnit.WEEK),
    )


@twin(
    "SELECT CAST('2024-03-31 23:59:58.500' AS TIMESTAMP(3)), CAST('2024-03-31 23:59:58.500' "
    "AS TIMESTAMP(3)) + INTERVAL '2' SECOND, CAST('2024-03-31 23:59:58.500' AS TIMESTAMP(3)) "
    "- INTERVAL '1' HOUR, CAST('2024-03-31 23:59:58.500' AS TIMESTAMP(3)) + INTERVAL '1.500' "
    "SECOND, FLOOR(CAST('2024-03-31 23:59:58.500' AS TIMESTAMP(3)) TO HOUR), "
    "CEIL(CAST('2024-03-31 23:59:58.500' AS TIMESTAMP(3)) TO MINUTE), EXTRACT(MINUTE FROM "
    "CAST('2024-03-31 23:59:58.500' AS TIMESTAMP(3))), CAST('10:11:12' AS TIME) FROM "
    "customers WHERE age IS NOT NULL"
)
def times(t_env):
    at = lit("2024-03-31 23:59:58.500").to_timestamp
    return _names(t_env).select(
        at,
        at + lit(2).seconds,
        at - lit(1).hours,
        at + lit(1500).milli,
        at.floor(TimeIntervalUnit.HOUR),
        at.ceil(TimeIntervalUnit.MINUTE),
        at.extract(TimeIntervalUnit.MINUTE),
        lit("10:11:12").to_time,
    )


@twin(
    "SELECT EXTRACT(HOUR FROM ts), EXTRACT(SECOND FROM ts), FLOOR(ts TO MINUTE), "
    "DATE_FORMAT(ts, 'yyyy/MM/dd HH'), CAST(ts AS DATE) AS `ts-DATE` FROM bids WHERE id < 5"
)
def parts_of_times(t_env):
    ts = col("ts")
    return (
        table(t_env, "bids")
        .where(col("id") < 5)
        .select(
            ts.extract(TimeIntervalUnit.HOUR),
            ts.extract(TimeIntervalUnit.SECOND),
            ts.floor(TimeIntervalUnit.MINUTE),
            date_format(ts, "yyyy/MM/dd HH"),
            ts.cast(DataTypes.DATE()),
        )
    )


@twin(
    "SELECT TIMESTAMPDIFF(SECOND, CAST('2024-03-01 12:00:00' AS TIMESTAMP(3)), ts), "
    "TIMESTAMPDIFF(MINUTE, CAST('2024-03-01 12:00:00' AS TIMESTAMP(3)), ts) FROM bids WHERE "
    "id < 5"
)
def differences_of_times(t_env):
    ts, begin = col("ts"), lit("2024-03-01 12:00:00").to_timestamp
    return (
        table(t_env, "bids")
        .where(col("id") < 5)
        .select(
            timestamp_diff(TimePointUnit.SECOND, begin, ts),
            timestamp_diff(TimePointUnit.MINUTE, begin, ts),
        )
    )


@twin(
    "SELECT (CAST('10:00:00' AS TIME), INTERVAL '1' HOUR) OVERLAPS (CAST('10:30:00' AS "
    "TIME), INTERVAL '1' HOUR), (CAST('10:00:00' AS TIME), INTERVAL '10' MINUTE) OVERLAPS "
    "(CAST('10:30:00' AS TIME), INTERVAL '1' HOUR) FROM customers WHERE age IS NOT NULL"
)
def overlapping_times(t_env):
    first, second = lit("10:00:00").to_time, lit("10:30:00").to_time
    return _names(t_env).select(
        temporal_overlaps(first, lit(1).hours, second, lit(1).hours),
        temporal_overlaps(first, lit(10).minutes, second, lit(1).hours),
    )


@twin(
    "SELECT TO_DATE('2024-01-02'), TO_DATE('02.01.2024', 'dd.MM.yyyy'), "
    "TO_TIMESTAMP('2024-01-02 03:04:05') FROM customers WHERE age IS NOT NULL"
)
def made_times(t_env):
    return _names(t_env).select(
        to_date("2024-01-02"),
        to_date("02.01.2024", "dd.MM.yyyy"),
        to_timestamp("2024-01-02 03:04:05"),
    )


@twin(
    "SELECT CAST(TO_TIMESTAMP_LTZ(1700000000, 0) AS STRING), "
    "CAST(TO_TIMESTAMP_LTZ(1700000000123, 3) AS STRING) FROM customers WHERE age IS NOT NULL"
)
def made_instants(t_env):
    return _names(t_env).select(
        to_timestamp_ltz(1700000000, 0).cast(DataTypes.STRING()),
        to_timestamp_ltz(1700000000123, 3).cast(DataTypes.STRING()),
    )


@twin(
    "SELECT CARDINALITY(tags), tags[2], ARRAY_CONTAINS(tags, 'a'), ARRAY_POSITION(tags, 'b') "
    "FROM people WHERE id = 1"
)
def arrays(t_env):
    tags = col("tags")
    return (
        table(t_env, "people")
        .where(col("id") == 1)
        .select(
            tags.cardinality,
            tags.at(2),
            tags.array_contains("a"),
            tags.array_position("b"),
        )
    )


@twin(
    "SELECT ARRAY_APPEND(tags, 'z'), ARRAY_PREPEND(tags, 'y'), ARRAY_REMOVE(tags, 'a') FROM "
    "people WHERE id = 1"
)
def changed_arrays(t_env):
    tags = col("tags")
    return (
        table(t_env, "people")
        .where(col("id") == 1)
        .select(tags.array_append("z"), tags.array_prepend("y"), tags.array_remove("a"))
    )


@twin(
    "SELECT ARRAY[3, 1, 2, 3], ARRAY_MAX(ARRAY[3, 1, 2, 3]), ARRAY_MIN(ARRAY[3, 1, 2, 3]), "
    "ELEMENT(ARRAY[4]), ARRAY[3, 1, 2, 3][3] FROM customers WHERE age IS NOT NULL"
)
def arrays_of_numbers(t_env):
    numbers = array(3, 1, 2, 3)
    return _names(t_env).select(
        numbers, numbers.array_max(), numbers.array_min(), array(4).element, numbers.at(3)
    )


@twin(
    "SELECT ARRAY_UNION(ARRAY[3, 1, 2, 3], ARRAY[9]), ARRAY_EXCEPT(ARRAY[3, 1, 2, 3], "
    "ARRAY[3]), ARRAY_INTERSECT(ARRAY[3, 1, 2, 3], ARRAY[1, 2]) FROM customers WHERE age IS "
    "NOT NULL"
)
def arrays_as_sets(t_env):
    numbers = array(3, 1, 2, 3)
    return _names(t_env).select(
        numbers.array_union(array(9)),
        numbers.array_except(array(3)),
        numbers.array_intersect(array(1, 2)),
    )


@twin(
    "SELECT scores['x'], CARDINALITY(scores), MAP_KEYS(scores), MAP_VALUES(scores) FROM "
    "people WHERE id = 1"
)
def maps(t_env):
    scores = col("scores")
    return (
        table(t_env, "people")
        .where(col("id") == 1)
        .select(scores.at("x"), scores.cardinality, scores.map_keys, scores.map_values)
    )


@twin(
    "SELECT MAP['a', 1, 'b', 2], MAP_FROM_ARRAYS(ARRAY['k'], ARRAY[5]) FROM customers WHERE "
    "age IS NOT NULL"
)
def made_maps(t_env):
    return _names(t_env).select(map_("a", 1, "b", 2), map_from_arrays(array("k"), array(5)))


@twin("SELECT MAP_ENTRIES(MAP['a', 1, 'b', 2]) FROM customers WHERE age IS NOT NULL")
def entries_of_maps(t_env):
    return _names(t_env).select(map_("a", 1, "b", 2).map_entries)


@twin(
    "SELECT SPLIT('a,b,,c', ','), STR_TO_MAP('k1=v1;k2=v2', ';', '='), ELT(2, 'x', 'y') FROM "
    "customers WHERE age IS NOT NULL"
)
def split_texts(t_env):
    return _names(t_env).select(
        lit("a,b,,c").split(","), lit("k1=v1;k2=v2").str_to_map(";", "="), lit(2).elt("x", "y")
    )


@twin(
    'SELECT \'{"a": {"b": [1, 2]}, "c": "x"}\' IS JSON, JSON_EXISTS(\'{"a": {"b": '
    '[1, 2]}, "c": "x"}\', \'$.a.b\'), JSON_VALUE(\'{"a": {"b": [1, 2]}, "c": "x"}\', '
    '\'$.c\' RETURNING STRING NULL ON EMPTY NULL ON ERROR), JSON_QUERY(\'{"a": {"b": [1, '
    '2]}, "c": "x"}\', \'$.a.b\' WITHOUT WRAPPER NULL ON EMPTY NULL ON ERROR), '
    'JSON_VALUE(\'{"a": {"b": [1, 2]}, "c": "x"}\', \'$.a.b[1]\' RETURNING INT NULL ON '
    'EMPTY NULL ON ERROR), JSON_VALUE(\'{"a": {"b": [1, 2]}, "c": "x"}\', \'$.none\' '
    "RETURNING STRING DEFAULT 'd' ON EMPTY NULL ON ERROR) FROM customers WHERE age IS NOT "
    "NULL"
)
def json_read(t_env):
    text = lit('{"a": {"b": [1, 2]}, "c": "x"}')
    return _names(t_env).select(
        text.is_json(),
        text.json_exists("$.a.b"),
        text.json_value("$.c"),
        text.json_query("$.a.b"),
        text.json_value("$.a.b[1]", DataTypes.INT()),
        text.json_value("$.none", default_on_empty="d", on_empty=JsonValueOnEmptyOrError.DEFAULT),
    )


@twin("SELECT JSON_STRING(name), JSON_QUOTE(name), JSON_UNQUOTE('\"a\"') FROM customers")
def json_texts(t_env):
    return table(t_env, "customers").select(
        json_string(col("name")), col("name").json_quote(), lit('"a"').json_unquote()
    )


@twin(
    "SELECT INET_ATON('127.0.0.1'), INET_NTOA(2130706433), PRINTF('%s-%d', 'a', 3) FROM "
    "customers WHERE age IS NOT NULL"
)
def networks(t_env):
    return _names(t_env).select(
        lit("127.0.0.1").inet_aton(), lit(2130706433).inet_ntoa(), lit("%s-%d").printf("a", 3)
    )
