"""Tables of Python values, their types and schemas, and tables made of descriptors."""

import datetime
from decimal import Decimal

from conformance.table_program import changelog, differs, no_twin, twin
from pyflink.common import Row
from pyflink.table import DataTypes, Schema, TableDescriptor
from pyflink.table.expressions import array, col, lit, map_


@twin("SELECT * FROM elements")
def elements(t_env):
    return t_env.from_elements([(1, "a"), (2, "b"), (2, None)], ["n", "t"])


@twin("SELECT * FROM elements")
def elements_without_names(t_env):
    return t_env.from_elements([(1, "a", 2.5), (2, "b", 0.5)])


@twin("SELECT SUM(n), MAX(t) FROM elements")
def elements_with_types(t_env):
    types = DataTypes.ROW(
        [DataTypes.FIELD("n", DataTypes.TINYINT()), DataTypes.FIELD("t", DataTypes.STRING())]
    )
    return t_env.from_elements([(1, "a"), (2, "b")], types).select(col("n").sum, col("t").max)


@twin("SELECT n, t FROM elements")
@differs("fields of a Row with names are found by name; PyFlink gives NULL")
def elements_of_rows(t_env):
    return t_env.from_elements([Row(n=1, t="x"), Row(n=2, t="y")])


@twin("SELECT b, a FROM elements")
@differs("columns of dictionaries stand in the order of their keys; PyFlink sorts them")
def elements_of_dictionaries(t_env):
    return t_env.from_elements([{"b": 1, "a": "x"}, {"b": 2, "a": "y"}])


@twin("SELECT flag, price, `day`, `at`, clock, data, many, named FROM elements")
def elements_of_every_kind(t_env):
    types = DataTypes.ROW(
        [
            DataTypes.FIELD("flag", DataTypes.BOOLEAN()),
            DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2)),
            DataTypes.FIELD("day", DataTypes.DATE()),
            DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("clock", DataTypes.TIME()),
            DataTypes.FIELD("data", DataTypes.BYTES()),
            DataTypes.FIELD("many", DataTypes.ARRAY(DataTypes.INT())),
            DataTypes.FIELD("named", DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT())),
        ]
    )
    row = (
        True,
        Decimal("12.50"),
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29, 12, 30, 1, 500000),
        datetime.time(12, 30, 1),
        bytearray(b"\x00\xff"),
        [1, 2],
        {"k": 3},
    )
    return t_env.from_elements([row, (None,) * 8], types)


@twin("SELECT COUNT(n) FROM elements")
def elements_of_nothing(t_env):
    types = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())])
    return t_env.from_elements([], types).select(col("n").count)


@no_twin("values of Python are looked at before there is a plan")
def elements_that_do_not_fit(t_env):
    types = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())])
    return t_env.from_elements([("text",)], types)


@twin("SELECT e.home.city AS city FROM elements AS e")
@differs("fields of a Row with names are found by name; PyFlink gives NULL")
def nested_elements(t_env):
    return t_env.from_elements([(1, Row(city="Rome", zip=11))], ["n", "home"]).select(
        col("home").get("city")
    )


@twin("SELECT k, SUM(v) AS s FROM elements GROUP BY k")
def elements_grouped(t_env):
    made = t_env.from_elements([("a", 1), ("b", 2), ("a", 5)], ["k", "v"])
    return made.group_by(col("k")).select(col("k"), col("v").sum.alias("s"))


@twin("SELECT n, t FROM elements")
def pandas_frame(t_env):
    import pandas as pd

    frame = pd.DataFrame({"n": [1, 2, 3], "t": ["x", None, "z"], "d": [0.5, 1.5, float("nan")]})
    return t_env.from_pandas(frame).select(col("n"), col("t"))


@twin("SELECT a, b FROM elements")
def pandas_frame_with_types(t_env):
    import pandas as pd

    types = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())]
    )
    return t_env.from_pandas(pd.DataFrame({"x": [1, 2], "y": ["p", "q"]}), types)


@twin("SELECT n, t FROM elements")
def to_pandas(t_env):
    frame = t_env.from_elements([(1, "a"), (2, None)], ["n", "t"]).to_pandas()
    return [str(list(frame.columns)), str(sorted(frame["n"])), str(len(frame))]


@twin("SELECT CAST(1 AS INT), CAST('x' AS VARCHAR(5)), ARRAY[1, 2], MAP['k', 1.5e0] FROM elements")
def constants(t_env):
    made = t_env.from_elements([(1,)], ["n"])
    return made.select(
        lit(1, DataTypes.INT().not_null()),
        lit("x", DataTypes.VARCHAR(5).not_null()),
        array(1, 2),
        map_("k", lit(1.5)),
    )


@twin("SELECT 1.25, 1099511627776, 1.5e0, -3 FROM elements")
def constants_of_numbers(t_env):
    made = t_env.from_elements([(1,)], ["n"])
    return made.select(lit(Decimal("1.25")), lit(2**40), lit(1.5), lit(-3))


@no_twin("it asks for names, and runs nothing")
def names_of_a_query(t_env):
    made = t_env.from_elements([(1, "a", 2.5)], ["n", "t", "d"])
    some = made.select(col("n").cast(DataTypes.INT()), col("t").char_length, col("d") > 1)
    return some.get_schema().get_field_names()


@no_twin("it asks for a schema, and runs nothing")
def resolved_schema(t_env):
    t_env.execute_sql(
        "CREATE TABLE many (id INT NOT NULL, ts TIMESTAMP(3), moment TIMESTAMP_LTZ(3),"
        " PRIMARY KEY (id) NOT ENFORCED, WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')"
    )
    many = t_env.from_path("many").get_resolved_schema()
    some = t_env.from_path("many").select(col("ts"), col("id") + 1).get_resolved_schema()
    return [*map(str, many.get_columns()), *map(str, some.get_columns()), *many.get_column_names()]


@twin(
    "CREATE TABLE numbers (n INT, b BOOLEAN) WITH ('connector' = 'datagen', 'number-of-rows' "
    "= '5', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '5');\n"
    "SELECT n, b IS NOT NULL FROM numbers"
)
def generated(t_env):
    schema = (
        Schema.new_builder().column("n", DataTypes.INT()).column("b", DataTypes.BOOLEAN()).build()
    )
    descriptor = (
        TableDescriptor.for_connector("datagen")
        .option("number-of-rows", "5")
        .option("fields.n.kind", "sequence")
        .option("fields.n.start", "1")
        .option("fields.n.end", "5")
        .schema(schema)
        .build()
    )
    return t_env.from_descriptor(descriptor).select(col("n"), col("b").is_not_null)


@twin("INSERT INTO numbers SELECT CAST(n AS INT), t FROM elements;\nSELECT * FROM numbers")
def described_table(t_env, directory):
    schema = (
        Schema.new_builder()
        .column("n", DataTypes.INT().not_null())
        .column("t", "STRING")
        .column_by_expression("twice", "n * 2")
        .build()
    )
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(schema)
        .option("path", f"{directory}/numbers")
        .format("json")
        .build()
    )
    t_env.create_temporary_table("numbers", descriptor)
    t_env.from_elements([(1, "a"), (2, "b")], ["n", "t"]).select(
        col("n").cast(DataTypes.INT().not_null()), col("t")
    ).execute_insert("numbers").wait()
    return t_env.from_path("numbers")


@no_twin("it asks for names, and runs nothing")
def described_twice(t_env):
    schema = Schema.new_builder().column("n", DataTypes.INT()).build()
    descriptor = TableDescriptor.for_connector("datagen").schema(schema).build()
    t_env.create_temporary_table("numbers", descriptor)
    t_env.create_temporary_table("numbers", descriptor)
    return t_env.list_tables()


@twin("SELECT * FROM numbers")
def without_a_connector(t_env):
    schema = Schema.new_builder().column("n", DataTypes.INT()).build()
    t_env.create_temporary_table(
        "numbers", TableDescriptor.for_connector("nothing").schema(schema).build()
    )
    return t_env.from_path("numbers")


@no_twin("it asks for names, and runs nothing")
def names_of_tables(t_env):
    made = t_env.from_elements([(1,)], ["n"])
    t_env.create_temporary_view("one", made)
    t_env.create_temporary_view("two", made)
    t_env.drop_temporary_view("one")
    return sorted(t_env.list_tables())


@no_twin("it asks for names, and runs nothing")
def names_of_what_there_is(t_env):
    return [
        str(t_env.list_catalogs()),
        str(t_env.list_databases()),
        t_env.get_current_catalog(),
        t_env.get_current_database(),
    ]


@twin("SELECT * FROM elements")
def parts_of_a_result(t_env):
    result = t_env.from_elements([(1, "a")], ["n", "t"]).execute()
    with result.collect() as rows:
        found = [row[1] for row in rows]
    return [*found, *result.get_table_schema().get_field_names()]


@twin("SELECT k, SUM(v) FROM elements GROUP BY k")
@changelog
def changes_of_a_sum(t_env):
    made = t_env.from_elements([("a", 1), ("a", 2)], ["k", "v"])
    return made.group_by(col("k")).select(col("k"), col("v").sum)


@twin("SELECT * FROM elements")
def kinds_of_rows(t_env):
    made = t_env.from_elements([("a", 1), ("b", 2)], ["k", "v"])
    with made.execute().collect() as rows:
        return sorted(f"{row.get_row_kind()} {row[0]}" for row in rows)
