"""Models in SQL and the Table API: CREATE MODEL, ML_PREDICT, and their versions in savepoints."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common import Configuration
from millrace.common.config import options
from millrace.common.errors import JobCancelledError, JobDefinitionError, MillraceError
from millrace.table import (
    EnvironmentSettings,
    Model,
    ModelDescriptor,
    Schema,
    TableEnvironment,
)
from millrace.table.expressions import col
from millrace.testing import run_local

pd: Any = import_module("pandas")


@dataclass
class Line:
    """As of scikit-learn: it predicts from a frame with the names of INPUT."""

    slope: float

    def predict(self, batch: Any) -> Any:
        assert list(batch.columns) == ["x"]
        return batch["x"].to_numpy() * self.slope

    def predict_proba(self, batch: Any) -> Any:
        return np.column_stack([batch["x"], 1 - batch["x"]])


class Columns:
    """Takes Arrow and gives a column by name."""

    def predict(self, batch: pa.RecordBatch) -> dict[str, Any]:
        return {"size": batch.num_rows * np.ones(batch.num_rows), "text": batch.column("s")}


def schema(**columns: str) -> Schema:
    builder = Schema.new_builder()
    for name, kind in columns.items():
        builder.column(name, kind)
    return builder.build()


def described(model: Any, given: Schema, made: Schema, **settings: str) -> ModelDescriptor:
    builder = ModelDescriptor.for_model(model).input_schema(given).output_schema(made)
    for key, value in settings.items():
        builder.option(key.replace("_", "-"), value)
    return builder.build()


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module as a program would have it."""
    module = ModuleType("models_of_program")
    module.line = Line(3.0)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "models_of_program", module)


LINE = (
    "CREATE TEMPORARY MODEL line INPUT (x DOUBLE) OUTPUT (y DOUBLE) COMMENT 'it''s straight' "
    "WITH ('provider' = 'python', 'model' = 'models_of_program:line')"
)


@pytest.mark.usefixtures("models")
def test_sql_knows_models(t_env: TableEnvironment) -> None:
    t_env.execute_sql(LINE)
    t_env.execute_sql(LINE.replace("MODEL line", "MODEL IF NOT EXISTS line"))
    t_env.create_temporary_view("t", t_env.from_elements([("a", 1), ("b", 2)], ["k", "n"]))
    query = "SELECT * FROM ML_PREDICT(TABLE t, MODEL line, DESCRIPTOR(n)) WHERE y > 3"
    assert t_env.sql_query(query).to_arrow().to_pylist() == [{"k": "b", "n": 2, "y": 6.0}]
    named = query.replace("TABLE t", "INPUT => TABLE t").replace("DESCRIPTOR", "ARGS => DESCRIPTOR")
    named = named.replace("MODEL line", "MODEL => MODEL line")
    assert t_env.sql_query(named).to_arrow().num_rows == 1
    assert t_env.list_models() == t_env.list_temporary_models() == ["line"]
    assert [row[0] for row in t_env.execute_sql("SHOW MODELS").collect()] == ["line"]
    rows = [tuple(row) for row in t_env.execute_sql("DESCRIBE MODEL line").collect()]
    assert rows == [("x", "DOUBLE", True, True), ("y", "DOUBLE", True, False)]
    [text] = t_env.execute_sql("SHOW CREATE MODEL line").collect()
    t_env.execute_sql("DROP TEMPORARY MODEL line")
    t_env.execute_sql("DROP TEMPORARY MODEL IF EXISTS line")
    with pytest.raises(JobDefinitionError, match="no model"):
        t_env.sql_query(query)
    t_env.execute_sql(text[0])
    assert t_env.sql_query(query).to_arrow().num_rows == 1


@pytest.mark.usefixtures("models")
def test_models_of_catalogs(t_env: TableEnvironment) -> None:
    t_env.execute_sql(LINE.replace("TEMPORARY ", ""))
    assert t_env.list_models() == ["line"]
    assert t_env.list_temporary_models() == []
    found = t_env.get_catalog("default_catalog").get_model
    from millrace.table.catalog import ObjectPath

    assert found(ObjectPath("default_database", "line")).get_comment() == "it's straight"
    line = described(Line(1.0), schema(x="DOUBLE"), schema(y="DOUBLE"))
    assert not t_env.create_model("line", line, ignore_if_exists=True)
    with pytest.raises(MillraceError, match="already"):
        t_env.create_model("line", line)
    assert t_env.drop_model("line")
    assert not t_env.drop_model("line")
    with pytest.raises(MillraceError, match="line"):
        t_env.from_model("line")


@pytest.mark.usefixtures("models")
def test_a_catalog_in_a_file_keeps_models(t_env: TableEnvironment, tmp_path: Path) -> None:
    made = f"CREATE CATALOG kept WITH ('type' = 'file', 'path' = '{tmp_path}')"
    t_env.execute_sql(made)
    t_env.execute_sql("USE CATALOG kept")
    t_env.execute_sql(LINE.replace("TEMPORARY ", ""))
    with pytest.raises(MillraceError, match="make it a temporary model"):
        t_env.create_model("m", described(Line(1.0), schema(x="DOUBLE"), schema(y="DOUBLE")))
    again = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    again.execute_sql(made)
    again.execute_sql("USE CATALOG kept")
    assert again.list_models() == ["line"]
    assert "x DOUBLE -> y DOUBLE" in repr(again.from_model("line"))


def test_the_table_api_predicts(t_env: TableEnvironment) -> None:
    model = t_env.from_model(described(Line(2.0), schema(x="DOUBLE"), schema(n="DOUBLE")))
    assert isinstance(model, Model)
    table = t_env.from_elements([("a", 1), ("b", 2)], ["k", "n"])
    made = model.predict(table, [col("n")])
    assert made.get_schema().get_field_names() == ["k", "n", "n0"]
    assert made.select(col("n0")).to_arrow().column(0).to_pylist() == [2.0, 4.0]
    twice = model.predict(made.select(col("n0")), ["n0"])
    assert twice.to_arrow().column(1).to_pylist() == [4.0, 8.0]
    assert model.get_resolved_input_schema().get_column_names() == ["x"]
    t_env.create_temporary_view("t", table)
    t_env.create_temporary_model("m", described(Line(2.0), schema(x="DOUBLE"), schema(n="DOUBLE")))
    twin = t_env.sql_query("SELECT * FROM ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR(n))")
    assert twin.to_arrow().to_pylist() == made.to_arrow().to_pylist()


def test_what_models_get_and_give(t_env: TableEnvironment) -> None:
    table = t_env.from_elements([("a", 0.25), ("b", 0.5)], ["s", "x"])
    shares = described(
        Line(1.0), schema(x="DOUBLE"), schema(p="ARRAY<DOUBLE>"), method="predict_proba"
    )
    made = t_env.from_model(shares).predict(table, ["x"]).select(col("p")).to_arrow()
    assert made.column(0).to_pylist() == [[0.25, 0.75], [0.5, 0.5]]
    apart = described(
        Line(1.0), schema(x="DOUBLE"), schema(p="DOUBLE", q="DOUBLE"), method="predict_proba"
    )
    made = t_env.from_model(apart).predict(table, ["x"]).select(col("q")).to_arrow()
    assert made.column(0).to_pylist() == [0.75, 0.5]
    by_name = described(
        Columns(), schema(s="STRING"), schema(text="STRING", size="INT"), batch_format="arrow"
    )
    made = t_env.from_model(by_name).predict(table, ["s"]).select(col("text"), col("size"))
    assert made.to_arrow().to_pylist() == [{"text": "a", "size": 2}, {"text": "b", "size": 2}]
    lacking = described(
        Columns(), schema(s="STRING"), schema(other="STRING", size="INT"), batch_format="arrow"
    )
    with pytest.raises(MillraceError, match="no column 'other'; it gives size, text"):
        t_env.from_model(lacking).predict(table, ["s"]).to_arrow()


def test_what_is_refused(t_env: TableEnvironment) -> None:
    line = described(Line(1.0), schema(x="DOUBLE"), schema(y="DOUBLE"))
    model = t_env.from_model(line)
    table = t_env.from_elements([("a", 1.0)], ["s", "x"])
    with pytest.raises(JobDefinitionError, match="takes DOUBLE for 'x', but the column 's'"):
        model.predict(table, ["s"])
    with pytest.raises(JobDefinitionError, match=r"takes 1 columns \(x\), not 2"):
        model.predict(table, ["s", "x"])
    with pytest.raises(JobDefinitionError, match="no column 'z'"):
        model.predict(table, ["z"])
    with pytest.raises(JobDefinitionError, match=r"takes no options, got a"):
        model.predict(table, ["x"], {"a": "b"})
    with pytest.raises(JobDefinitionError, match=r"has a method predict\(\)"):
        t_env.from_model(described(object(), schema(x="DOUBLE"), schema(y="DOUBLE")))
    for settings, reason in (
        ({"provider": "openai"}, "known are 'python' and 'spark'"),
        ({"provider": "python"}, "needs the option 'model'"),
        ({"provider": "python", "speed": "high"}, "has the option 'speed'"),
        ({"provider": "python", "model": "nothing_there:x"}, "cannot be imported"),
        ({"provider": "python", "model": "textwrap:fill"}, "cannot be imported.*argument"),
    ):
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items())
        t_env.execute_sql(
            f"CREATE TEMPORARY MODEL m INPUT (x DOUBLE) OUTPUT (y DOUBLE) WITH ({listed})"
        )
        with pytest.raises(JobDefinitionError, match=reason):
            t_env.from_model("m")
        assert t_env.drop_temporary_model("m")
    totals = table.group_by(col("s")).select(col("s"), col("x").sum.alias("x"))
    with pytest.raises(JobDefinitionError, match="doesn't support consuming update changes"):
        model.predict(totals, ["x"]).execute()


def test_event_time_goes_on_behind_a_model(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT, ts AS TO_TIMESTAMP_LTZ(i * 1000, 3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', 'fields.i.start' = '0', "
        "'fields.i.end' = '119')"
    )
    line = described(Line(1.0), schema(x="DOUBLE"), schema(y="DOUBLE"))
    t_env.create_temporary_model("line", line)
    found = t_env.sql_query(
        "SELECT SUM(y) AS total FROM TUMBLE(TABLE (SELECT * FROM ML_PREDICT(TABLE n, MODEL line, "
        "DESCRIPTOR(i))), DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY window_start, window_end"
    )
    totals = [sum(range(60)), sum(range(60, 120))]
    assert sorted(found.to_arrow().column(0).to_pylist()) == totals


ROWS = 20_000


def run(slope: float, start_from: str, directory: Path | None, **settings: str) -> tuple[int, str]:
    """How many rows a query over a model gives, and the savepoint with which it is stopped."""
    given = {options.START_FROM.key: start_from} if start_from else {}
    configuration = Configuration({**given, **settings})
    with run_local(epoch_records=500, epoch_limit=500) as cluster:
        t_env = TableEnvironment.create(
            EnvironmentSettings.new_instance().with_configuration(configuration).build()
        )
        t_env.execute_sql(
            "CREATE TABLE n (i BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = "
            "'1000000000', 'fields.i.kind' = 'sequence', 'fields.i.start' = '1', "
            f"'fields.i.end' = '{ROWS}')"
        )
        line = described(Line(slope), schema(x="DOUBLE"), schema(y="DOUBLE"))
        t_env.create_temporary_model("line", line)
        started: Future[Any] = Future()
        asked: list[Any] = []

        def act(progress: Any) -> None:
            if directory is not None and progress.records > 2000 and not asked:
                asked.append(
                    started.result(60).stop_with_savepoint(savepoint_directory=str(directory))
                )

        cluster.listeners.append(act)
        result = t_env.execute_sql("SELECT y FROM ML_PREDICT(TABLE n, MODEL line, DESCRIPTOR(i))")
        client: Any = result.get_job_client()
        started.set_result(client)
        count = 0
        try:
            for _ in result.collect():
                count += 1
        except JobCancelledError:
            assert asked
        return count, client.final_savepoint if asked else ""


def test_a_savepoint_has_the_version_of_the_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A job that goes on with another model says so, and both versions are in the next savepoint;
    if it is told to, it fails."""
    first, savepoint = run(1.0, "", tmp_path / "one")
    assert 0 < first < ROWS
    assert len(versions_in(savepoint)) == 1
    same, _ = run(1.0, savepoint, None, **{"table.ml.model-change": "fail"})
    assert first + same == ROWS
    assert "another" not in caplog.text
    with pytest.raises(MillraceError, match=r"of the version .*table\.ml\.model-change"):
        run(2.0, savepoint, None, **{"table.ml.model-change": "fail"})
    caplog.clear()
    second, again = run(2.0, savepoint, tmp_path / "two")
    assert second
    assert "both are recorded" in caplog.text
    assert versions_in(savepoint) < versions_in(again)
    assert len(versions_in(again)) == 2


def versions_in(savepoint: str) -> set[str]:
    """The texts of 16 hex digits in a canonical savepoint's state of versions."""
    import re

    found: set[str] = set()
    for path in Path(savepoint).rglob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            found |= set(re.findall(r"'([0-9a-f]{16})'", repr(row)))
    return found


@pytest.mark.usefixtures("models")
def test_a_model_is_altered(t_env: TableEnvironment) -> None:
    """Its options decide what is called; temporary ones stay as they are."""
    t_env.execute_sql(LINE.replace("TEMPORARY ", ""))
    t_env.create_temporary_view("t", t_env.from_elements([(2,)], ["n"]))
    query = "SELECT y FROM ML_PREDICT(TABLE t, MODEL {}, DESCRIPTOR(n))"
    before = t_env.from_model("line").version
    t_env.execute_sql("ALTER MODEL line SET ('version' = 'second', 'task' = 'regression')")
    assert t_env.from_model("line").version == "second"
    t_env.execute_sql("ALTER MODEL line RESET ('version')")
    assert t_env.from_model("line").version == before
    t_env.execute_sql("ALTER MODEL line RENAME TO slope")
    assert t_env.list_models() == ["slope"]
    assert t_env.sql_query(query.format("slope")).to_arrow().to_pylist() == [{"y": 6.0}]
    t_env.execute_sql("ALTER MODEL IF EXISTS line RENAME TO other")
    for wrong, words in (
        ("ALTER MODEL line SET ('version' = 'x')", "no model.*line"),
        ("ALTER MODEL slope RESET ('provider')", "'provider' of a model cannot be reset"),
        ("ALTER MODEL slope RENAME TO elsewhere.slope", "cannot move to another database"),
        ("ALTER MODEL slope RENAME TO slope", "already"),
    ):
        with pytest.raises(JobDefinitionError, match=words):
            t_env.execute_sql(wrong)
    t_env.execute_sql(LINE)
    with pytest.raises(JobDefinitionError, match="is temporary and cannot be altered"):
        t_env.execute_sql("ALTER MODEL line SET ('version' = 'x')")
