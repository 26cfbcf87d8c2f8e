"""Plans in files run as their statements do, later and without being planned again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest

from millrace.common import Row
from millrace.common.errors import JobDefinitionError
from millrace.table import (
    DataTypes,
    EnvironmentSettings,
    ModelDescriptor,
    PlanReference,
    TableDescriptor,
    TableEnvironment,
)
from millrace.table import table_session as session_module
from millrace.table.expressions import col
from millrace.table.schema import Schema
from millrace.table.udf import ArgumentTrait, udf, udptf

INSERT = "INSERT INTO t SELECT UPPER(name), COUNT(*) FROM s WHERE id > 1 GROUP BY UPPER(name)"


def files(path: Path) -> tuple[str, str]:
    path.mkdir(exist_ok=True)
    (path / "s").mkdir(exist_ok=True)
    (path / "s" / "a.csv").write_text("1,pen\n2,pen\n3,ink\n4,pen\n")
    source = (
        "CREATE TABLE s (id BIGINT, name STRING, twice AS id * 2) WITH ('connector' = 'filesystem',"
        f" 'path' = '{path / 's'}', 'format' = 'csv')"
    )
    return source, "CREATE TABLE t (name STRING, n BIGINT) WITH ('connector' = 'print')"


@pytest.fixture
def shop(t_env: TableEnvironment, tmp_path: Path) -> TableEnvironment:
    for statement in files(tmp_path):
        t_env.execute_sql(statement)
    return t_env


def fresh() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def final(printed: str) -> dict[str, int]:
    """The rows after all changes that were printed."""
    rows: dict[str, int] = {}
    for line in printed.splitlines():
        name, count = line[3:-1].split(", ")
        if line[:2] in ("+I", "+U"):
            rows[name] = int(count)
    return rows


EXPECTED = {"PEN": 2, "INK": 1}


def test_a_plan_is_kept_and_run_where_its_tables_are_not(
    shop: TableEnvironment, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plan.json"
    plan = shop.compile_plan_sql(INSERT)
    plan.write_to_file(file)
    later = fresh()

    def planned_again(*_: object) -> None:
        raise AssertionError("a plan is not planned again")

    monkeypatch.setattr(session_module, "optimized", planned_again)
    loaded = later.load_plan(PlanReference.from_file(file))
    assert loaded.explain() == plan.explain() == str(loaded)
    assert loaded.as_json_string() == file.read_text()
    loaded.execute().wait()
    assert final(capsys.readouterr().out) == EXPECTED
    later.execute_plan(PlanReference.from_json_string(plan.as_json_string())).wait()
    assert final(capsys.readouterr().out) == EXPECTED


def test_statements(shop: TableEnvironment, tmp_path: Path, capsys: Any) -> None:
    file = f"file://{tmp_path}/plan.json"
    shop.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    kept = (tmp_path / "plan.json").read_text()
    with pytest.raises(JobDefinitionError, match="there is a plan in .* already"):
        shop.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    other = "INSERT INTO t SELECT name, id FROM s"
    shop.execute_sql(f"COMPILE PLAN '{file}' IF NOT EXISTS FOR {other}")
    assert (tmp_path / "plan.json").read_text() == kept
    shop.execute_sql(f"COMPILE AND EXECUTE PLAN '{file}' FOR {other}").wait()
    assert final(capsys.readouterr().out) == EXPECTED
    fresh().execute_sql(f"EXECUTE PLAN '{file}'").wait()
    assert final(capsys.readouterr().out) == EXPECTED
    shop.get_config().set("table.plan.force-recompile", "true")
    shop.execute_sql(f"COMPILE PLAN '{file}' FOR {other}")
    assert (tmp_path / "plan.json").read_text() != kept
    with pytest.raises(JobDefinitionError, match="only INSERT and STATEMENT SET can be compiled"):
        shop.compile_plan_sql("SELECT * FROM s")


def test_sets_and_pipelines(shop: TableEnvironment, capsys: Any) -> None:
    statements = shop.create_statement_set().add_insert_sql(INSERT).add_insert_sql(INSERT)
    statements.compile_plan().execute().wait()
    assert final(capsys.readouterr().out) == EXPECTED
    descriptor = TableDescriptor.for_connector("print").schema(
        Schema.new_builder().column("id", DataTypes.BIGINT()).build()
    )
    pipeline = shop.from_path("s").select(col("id")).insert_into(descriptor.build())
    text = pipeline.compile_plan().as_json_string()
    fresh().load_plan(PlanReference.from_json_string(text)).execute().wait()
    assert sorted(capsys.readouterr().out.splitlines()) == [f"+I[{n}]" for n in range(1, 5)]


def test_a_plan_names_temporary_tables_and_functions(shop: TableEnvironment, capsys: Any) -> None:
    def with_others(t_env: TableEnvironment) -> TableEnvironment:
        t_env.create_temporary_table("made", described(t_env))
        t_env.create_temporary_function("doubled", doubled)
        return t_env

    with_others(shop)
    text = shop.compile_plan_sql("INSERT INTO t SELECT 'a', doubled(id) FROM made").as_json_string()
    assert "number-of-rows" not in text
    reference = PlanReference.from_json_string(text)
    with pytest.raises(JobDefinitionError, match="needs the table .*made, which does not exist"):
        fresh().load_plan(reference)
    later = with_others(fresh())
    later.load_plan(reference).execute().wait()
    assert capsys.readouterr().out == "+I[a, 14]\n"
    later.drop_temporary_function("doubled")
    with pytest.raises(JobDefinitionError, match="calls the function doubled"):
        later.load_plan(reference)


def described(t_env: TableEnvironment) -> TableDescriptor:
    schema = Schema.new_builder().column("id", DataTypes.BIGINT()).build()
    made = TableDescriptor.for_connector("datagen").schema(schema).option("number-of-rows", "1")
    return made.option("fields.id.min", "7").option("fields.id.max", "7").build()


doubled = udf(lambda n: n * 2, result_type=DataTypes.BIGINT())


@pytest.mark.parametrize(
    ("compiled", "message"),
    [
        (lambda env: env.from_elements([("a", 1)], ["a", "b"]), "table of Python objects"),
        (
            lambda env: env.from_path("s").select(col("name"), doubled(col("id")).alias("n")),
            "has no name: name it with create_temporary_function",
        ),
    ],
)
def test_what_is_in_this_program_only_is_refused(
    shop: TableEnvironment, compiled: Callable[[TableEnvironment], Any], message: str
) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        compiled(shop).insert_into("t").compile_plan()


def test_other_tables_texts_and_modes(shop: TableEnvironment, tmp_path: Path) -> None:
    text = shop.compile_plan_sql(INSERT).as_json_string()
    later = fresh()
    later.execute_sql(files(tmp_path)[0].replace("id BIGINT", "id INT"))
    with pytest.raises(JobDefinitionError, match="columns of table .*s have changed since"):
        later.load_plan(PlanReference.from_json_string(text))
    batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    with pytest.raises(JobDefinitionError, match="compiled for a job over streams"):
        batch.load_plan(PlanReference.from_json_string(text))
    for other in ("", "[1]", "{}", json.dumps({**json.loads(text), "format": 99})):
        with pytest.raises(JobDefinitionError, match="not a compiled plan"):
            later.load_plan(PlanReference.from_json_string(other))
    with pytest.raises(JobDefinitionError, match="there is no plan in"):
        later.load_plan(PlanReference.from_file(tmp_path / "none.json"))


@udptf
def above(
    rows: Annotated[Row, ArgumentTrait.ROW_SEMANTIC_TABLE], least: int
) -> Iterator[tuple[str, int]]:
    """The rows above a number."""
    if rows.id > least:
        yield rows.name.upper(), rows.id * 10


LINE = """CREATE TEMPORARY MODEL line INPUT (x BIGINT) OUTPUT (y BIGINT)
    WITH ('provider' = 'python', 'model' = 'models_of_plan:line')"""
OF_A_PLAN = {
    "SELECT op, id FROM TO_CHANGELOG(input => TABLE s)": ["+I[INSERT, 1]", "+I[INSERT, 4]"],
    "SELECT name, id FROM FROM_CHANGELOG(input => TABLE coded)": ["+I[ink, 3]", "+I[pen, 4]"],
    "SELECT * FROM above(TABLE s, 2)": ["+I[INK, 30]", "+I[PEN, 40]"],
    "SELECT name, y FROM ML_PREDICT(TABLE s, MODEL line, DESCRIPTOR(id))": ["+I[ink, 6]"],
}


@pytest.fixture
def line_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("models_of_plan")
    module.line = Doubling()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "models_of_plan", module)


class Doubling:
    """As of scikit-learn."""

    def predict(self, batch: Any) -> Any:
        return batch["x"].to_numpy() * 2


def with_tools(t_env: TableEnvironment) -> TableEnvironment:
    """The function and the model that the plans name."""
    t_env.create_temporary_function("above", above)
    t_env.execute_sql(LINE)
    return t_env


@pytest.mark.usefixtures("line_module")
@pytest.mark.parametrize("query", OF_A_PLAN)
def test_changes_process_table_functions_and_models(
    shop: TableEnvironment, query: str, capsys: Any
) -> None:
    """Plans have them; functions and models by name."""
    with_tools(shop).execute_sql(
        "CREATE VIEW coded AS SELECT id, name, CASE WHEN id > 2 THEN 'INSERT' END AS op FROM s "
        "WHERE id > 2"
    )
    plan = shop.compile_plan_sql(f"INSERT INTO t {query}")
    later = with_tools(fresh()).load_plan(PlanReference.from_json_string(plan.as_json_string()))
    assert later.explain() == plan.explain()
    assert later.as_json_string() == plan.as_json_string()
    later.execute().wait()
    printed = capsys.readouterr().out.splitlines()
    assert set(OF_A_PLAN[query]) <= set(printed)


@pytest.mark.usefixtures("line_module")
def test_models_of_a_plan_are_those_it_was_compiled_with(shop: TableEnvironment) -> None:
    shop.execute_sql(LINE)
    query = "SELECT name, y FROM ML_PREDICT(TABLE s, MODEL line, DESCRIPTOR(id))"
    text = shop.compile_plan_sql(f"INSERT INTO t {query}").as_json_string()
    later = fresh()
    with pytest.raises(JobDefinitionError, match=r"needs the model .*line, which does not exist"):
        later.load_plan(PlanReference.from_json_string(text))
    later.execute_sql(LINE.replace("y BIGINT", "y DOUBLE"))
    with pytest.raises(JobDefinitionError, match="columns of model .*line have changed since"):
        later.load_plan(PlanReference.from_json_string(text))
    descriptor = (
        ModelDescriptor.for_model(Doubling())
        .input_schema(Schema.new_builder().column("x", "BIGINT").build())
        .output_schema(Schema.new_builder().column("y", "BIGINT").build())
        .build()
    )
    unnamed = shop.from_model(descriptor).predict(shop.from_path("s"), [col("id")])
    with pytest.raises(JobDefinitionError, match="but one model has no name"):
        unnamed.select(col("name"), col("y")).insert_into("t").compile_plan()
