"""Flink's page "Expressions" of the Table API: methods of expressions, by what they work on."""

from conformance.table_data import table
from conformance.table_program import differs
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


def comparison(t_env):
    age = col("age")
    return table(t_env, "customers").select(
        age == 31, age != 31, age > 31, age >= 31, age < 31, age <= 31
    )


def nulls(t_env):
    age = col("age")
    return table(t_env, "customers").select(
        age.is_null, age.is_not_null, age.if_null(-1), (age > 30).is_true
    )


def three_values(t_env):
    old = col("age") > 30
    return table(t_env, "customers").select(
        old.is_true, old.is_false, old.is_not_true, old.is_not_false
    )


@differs("NOT of NULL is NULL, as in SQL")
def not_of_unknown(t_env):
    return table(t_env, "customers").select(~(col("age") > 30))


def between(t_env):
    age = col("age")
    return table(t_env, "customers").select(age.between(28, 31), age.not_between(28, 31))


def in_constants(t_env):
    return table(t_env, "customers").select(col("name").in_("ada", "bob"), col("age").in_(31, 45))


def arithmetic(t_env):
    id, price = col("id"), col("price")
    return (
        table(t_env, "orders")
        .where(id < 8)
        .select(id + 1, 10 - id, id * price, price / 3, id / 2, id % 3, -id, negative(price))
    )


def rounding(t_env):
    price = col("price")
    return (
        table(t_env, "orders")
        .where(col("id") < 8)
        .select(price.floor(), price.ceil(), price.round(1), price.abs, price.sign)
    )


def truncated(t_env):
    price = col("price")
    return table(t_env, "orders").where(col("id") < 8).select(price.truncate(1), price.truncate())


def powers(t_env):
    amount = col("amount")
    return (
        table(t_env, "orders")
        .where(col("id") < 8)
        .select(
            amount**2, amount.sqrt, amount.exp, amount.ln, amount.log10, amount.log2, amount.log(3)
        )
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


def numbers_as_texts(t_env):
    return table(t_env, "orders").where(col("id") < 20).select(col("id").bin, col("id").hex)


def texts_as_numbers(t_env):
    return _names(t_env).select(lit("61").unhex, lit("name").hex)


def texts(t_env):
    name = col("name")
    return _names(t_env).select(name.upper_case, name.lower_case, name.init_cap, name.reverse)


def lengths(t_env):
    return _names(t_env).select(col("name").char_length, col("city").repeat(2))


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


def trimmed(t_env):
    text = lit("  mill  ")
    return _names(t_env).select(
        text.trim(), text.trim_leading(), text.trim_trailing(), lit("xxax").trim("x")
    )


def trimmed_sides(t_env):
    return _names(t_env).select(
        lit(" a ").ltrim(), lit(" a ").rtrim(), lit("xxax").ltrim("x"), lit("xax").btrim("x")
    )


def padded(t_env):
    return _names(t_env).select(
        col("name").lpad(6, "*"),
        col("name").rpad(6, "-"),
        col("name").overlay("XX", 2, 1),
        col("name").replace("a", "o"),
        col("name").translate("ab", "xy"),
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


def starts_and_ends(t_env):
    return _names(t_env).select(col("city").starts_with("O"), col("city").ends_with("o"))


def concatenated(t_env):
    return table(t_env, "customers").select(
        concat(col("name"), "-", col("city")), concat_ws("/", col("name"), col("city"), "x")
    )


def added_texts(t_env):
    return table(t_env, "customers").select(
        col("name") + "!", col("city") + col("name"), col("name") + 1
    )


@differs("a text and NULL are NULL, as in SQL")
def added_to_nothing(t_env):
    return table(t_env, "customers").select(lit("n") + col("age"))


def hashes(t_env):
    name = col("name")
    return _names(t_env).select(name.md5, name.sha1, name.sha256, name.sha2(224))


def encoded(t_env):
    name = col("name")
    return _names(t_env).select(name.to_base64, name.to_base64.from_base64)


def encoded_in_a_character_set(t_env):
    return _names(t_env).select(col("name").encode("UTF-8").decode("UTF-8"))


def encoded_for_urls(t_env):
    return _names(t_env).select(lit("a b&c").url_encode(), lit("a+b%26c").url_decode())


def parsed_urls(t_env):
    url = lit("https://flink.apache.org/path?x=1&y=2#top")
    return _names(t_env).select(
        url.parse_url("HOST"),
        url.parse_url("QUERY"),
        url.parse_url("QUERY", "y"),
        url.parse_url("PATH"),
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


def try_cast(t_env):
    return table(t_env, "customers").select(
        col("name").try_cast(DataTypes.INT()),
        col("age").try_cast(DataTypes.STRING()),
        lit("2024-02-30").try_cast(DataTypes.DATE()),
    )


def greatest_and_least(t_env):
    return (
        table(t_env, "orders")
        .where(col("id") < 6)
        .select(
            call("GREATEST", col("id"), col("amount")), call("LEAST", col("id"), col("amount"), 3)
        )
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


def overlapping_times(t_env):
    first, second = lit("10:00:00").to_time, lit("10:30:00").to_time
    return _names(t_env).select(
        temporal_overlaps(first, lit(1).hours, second, lit(1).hours),
        temporal_overlaps(first, lit(10).minutes, second, lit(1).hours),
    )


def made_times(t_env):
    return _names(t_env).select(
        to_date("2024-01-02"),
        to_date("02.01.2024", "dd.MM.yyyy"),
        to_timestamp("2024-01-02 03:04:05"),
    )


def made_instants(t_env):
    return _names(t_env).select(
        to_timestamp_ltz(1700000000, 0).cast(DataTypes.STRING()),
        to_timestamp_ltz(1700000000123, 3).cast(DataTypes.STRING()),
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


def changed_arrays(t_env):
    tags = col("tags")
    return (
        table(t_env, "people")
        .where(col("id") == 1)
        .select(tags.array_append("z"), tags.array_prepend("y"), tags.array_remove("a"))
    )


def arrays_of_numbers(t_env):
    numbers = array(3, 1, 2, 3)
    return _names(t_env).select(
        numbers, numbers.array_max(), numbers.array_min(), array(4).element, numbers.at(3)
    )


def arrays_as_sets(t_env):
    numbers = array(3, 1, 2, 3)
    return _names(t_env).select(
        numbers.array_union(array(9)),
        numbers.array_except(array(3)),
        numbers.array_intersect(array(1, 2)),
    )


def maps(t_env):
    scores = col("scores")
    return (
        table(t_env, "people")
        .where(col("id") == 1)
        .select(scores.at("x"), scores.cardinality, scores.map_keys, scores.map_values)
    )


def made_maps(t_env):
    return _names(t_env).select(map_("a", 1, "b", 2), map_from_arrays(array("k"), array(5)))


def entries_of_maps(t_env):
    return _names(t_env).select(map_("a", 1, "b", 2).map_entries)


def split_texts(t_env):
    return _names(t_env).select(
        lit("a,b,,c").split(","), lit("k1=v1;k2=v2").str_to_map(";", "="), lit(2).elt("x", "y")
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


def json_texts(t_env):
    return table(t_env, "customers").select(
        json_string(col("name")), col("name").json_quote(), lit('"a"').json_unquote()
    )


def networks(t_env):
    return _names(t_env).select(
        lit("127.0.0.1").inet_aton(), lit(2130706433).inet_ntoa(), lit("%s-%d").printf("a", 3)
    )
