"""The graph of a job: what its operators do, and its text."""

from __future__ import annotations

import msgspec
from gallery import RUNNING, archive

from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.archived_job import (
    ARCHIVE,
    LONGEST_DESCRIPTION,
    ArchivedOperator,
    ArchivedOperatorInput,
    ArchivedStage,
    archived_stages,
)
from millrace.server.resources.job_plan import plan_text
from millrace.table import StreamTableEnvironment
from millrace.testing import run_local

QUERY = "SELECT k, SUM(v) AS total FROM numbers WHERE v > 1 GROUP BY k"


def query_stages():
    """The stages of a job with a query."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    tables = StreamTableEnvironment.create(env)
    numbers = tables.from_elements([("a", 1), ("b", 2)], ["k", "v"])
    tables.create_temporary_view("numbers", numbers)
    tables.to_changelog_stream(tables.sql_query(QUERY)).print()
    return archived_stages(env._graph())


def test_operators_of_a_query_say_what_they_do(api, job_server) -> None:
    with run_local():
        stages = query_stages()
    place = job_server.settings.jobs / RUNNING / "clicks-00000000" / ARCHIVE
    place.write_bytes(msgspec.structs.replace(archive(), stages=stages).encoded())
    answer = api.get(f"/jobs/{RUNNING}/plan").json()
    said = [each["description"] for node in answer["plan"]["nodes"] for each in node["operators"]]
    assert any("groupBy=[k], select=[SUM(" in text for text in said)
    assert any("where=[" in text for text in said)
    assert [i["ship_strategy"] for n in answer["plan"]["nodes"] for i in n["inputs"]] == ["HASH"]
    lines = answer["text"].splitlines()
    assert lines[0] == "Print"
    exchange = next(number for number, line in enumerate(lines) if "distribution=[hash]" in line)
    assert "GroupAggregate(groupBy=[k]" in lines[exchange - 1]
    assert "where=[" in lines[exchange + 1]


def test_details_of_an_earlier_version_have_no_operators(api) -> None:
    answer = api.get(f"/jobs/{RUNNING}/plan").json()
    assert answer["text"] == ""
    assert [node["operators"] for node in answer["plan"]["nodes"]] == [[], []]


def test_a_very_long_description_is_cut(monkeypatch) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).map(lambda v: v).set_description("x" * 9_000).print()
        (stage,) = archived_stages(env._graph())
    longest = max(len(operator.description) for operator in stage.operators)
    assert longest == LONGEST_DESCRIPTION + 1


def test_load_of_the_largest_and_the_median_subtask(api) -> None:
    source, count = api.get(f"/jobs/{RUNNING}").json()["vertices"]
    assert (source["busy-ratio"], source["busy-ratio-median"]) == (0.25, 0.25)
    assert (source["back-pressured-ratio"], source["back-pressured-ratio-median"]) == (0.05, 0.05)
    assert source["skew"] == 1.2  # 120 and 80 a second
    assert (count["busy-ratio"], count["skew"]) == (0.9, 1.0)


def test_an_exchange_of_another_version_is_shown_without_a_name() -> None:
    first = ArchivedOperator("a", "First")
    last = ArchivedOperator("b", "Last", inputs=(ArchivedOperatorInput("a", "TELEPORTED"),))
    lines = plan_text([ArchivedStage("a", "First", 1, operators=(first, last))]).splitlines()
    assert (lines[0], "First" in lines[-1]) == ("Last", True)
