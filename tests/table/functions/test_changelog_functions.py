"""TO_CHANGELOG and FROM_CHANGELOG: changes as rows with a code, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from millrace.common import Row, RowKind, Types
from millrace.common.errors import MillraceError
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import (
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    Table,
    TableEnvironment,
)
from millrace.table.expressions import col, descriptor, map_
from millrace.testing import run_local

CHANGES = [
    (RowKind.INSERT, 1, "Alice"),
    (RowKind.INSERT, 2, "Bob"),
    (RowKind.UPDATE_BEFORE, 1, "Alice"),
    (RowKind.UPDATE_AFTER, 1, "Alice2"),
    (RowKind.DELETE, 2, "Bob"),
]
WHOLE = [
    "+I(DELETE, 2, Bob)",
    "+I(INSERT, 1, Alice)",
    "+I(INSERT, 2, Bob)",
    "+I(UPDATE_AFTER, 1, Alice2)",
    "+I(UPDATE_BEFORE, 1, Alice)",
]


@pytest.fixture(params=[None, 1], ids=["one epoch", "an epoch per record"])
def t_env(request: pytest.FixtureRequest) -> Iterator[StreamTableEnvironment]:
    """With tables: ``t`` of changes of ids and names, ``codes`` of such changes as rows."""
    with run_local(workers=2, seed=1, epoch_records=request.param):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        made = StreamTableEnvironment.create(env)
        rows = [Row.of_kind(kind, number, name) for kind, number, name in CHANGES]
        named = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
        schema = Schema.new_builder().column("id", "INT NOT NULL").column("name", "STRING")
        changed = made.from_changelog_stream(
            env.from_collection(rows, named), schema.primary_key("id").build()
        )
        made.create_temporary_view("t", changed)
        codes = [(number, kind.name, name) for kind, number, name in CHANGES]
        made.create_temporary_view("codes", made.from_elements(codes, ["id", "op", "name"]))
        yield made


def shown(table: Table) -> list[str]:
    """Rows with their kinds, sorted."""
    with table.execute().collect() as rows:
        return sorted(f"{row.get_row_kind()}{tuple(row)}".replace("'", "") for row in rows)


def of(t_env: TableEnvironment, arguments: str, function: str = "TO_CHANGELOG") -> list[str]:
    return shown(t_env.sql_query(f"SELECT * FROM {function}({arguments})"))


class TestToChangelog:
    def test_each_change_is_a_row(self, t_env: StreamTableEnvironment) -> None:
        assert of(t_env, "input => TABLE t") == WHOLE
        assert of(t_env, "TABLE t") == WHOLE
        assert shown(t_env.from_path("t").to_changelog()) == WHOLE
        assert shown(
            t_env.from_call("TO_CHANGELOG", t_env.from_path("t").as_argument("input"))
        ) == (WHOLE)

    def test_codes_of_a_mapping_leave_changes_out(self, t_env: StreamTableEnvironment) -> None:
        found = of(
            t_env,
            "input => TABLE t, op => DESCRIPTOR(deleted), "
            "op_mapping => MAP['INSERT, UPDATE_AFTER', 'false', 'DELETE', 'true']",
        )
        live = ["+I(false, 1, Alice)", "+I(false, 1, Alice2)", "+I(false, 2, Bob)"]
        assert found == [*live, "+I(true, 2, Bob)"]
        mapping = map_("INSERT, UPDATE_AFTER", "false", "DELETE", "true")
        table = t_env.from_path("t").to_changelog(
            descriptor("deleted").as_argument("op"), mapping.as_argument("op_mapping")
        )
        assert table.get_schema().get_field_names() == ["deleted", "id", "name"]
        assert shown(table) == found

    def test_columns_of_the_partition_come_first(self, t_env: StreamTableEnvironment) -> None:
        table = t_env.from_path("t").partition_by(col("name")).to_changelog()
        assert table.get_schema().get_field_names() == ["name", "op", "id"]
        assert "+I(Alice, UPDATE_BEFORE, 1)" in shown(table)
        assert of(t_env, "TABLE t PARTITION BY name") == shown(table)

    def test_no_rows_before_updates_where_the_key_tells_rows_apart(
        self, t_env: StreamTableEnvironment
    ) -> None:
        counted = (
            "SELECT id, op, n FROM TO_CHANGELOG(TABLE (SELECT id, COUNT(*) AS n FROM "
            "(VALUES (1), (1), (2)) AS v (id) GROUP BY id) PARTITION BY id)"
        )
        found = shown(t_env.sql_query(counted))
        assert not [row for row in found if "UPDATE_BEFORE" in row]
        assert {row for row in found if row.startswith("+I(2")} == {"+I(2, INSERT, 1)"}

    def test_deletes_with_their_key_alone(self, t_env: StreamTableEnvironment) -> None:
        found = of(t_env, "TABLE t, produces_full_deletes => FALSE")
        assert found == sorted(["+I(DELETE, 2, None)", *WHOLE[1:]])
        assert of(t_env, "TABLE t, produces_full_deletes => TRUE") == WHOLE
        table = t_env.sql_query("SELECT * FROM TO_CHANGELOG(TABLE t)")
        assert str(table.get_schema().get_field_data_type("id")).endswith("NOT NULL")

    def test_a_name_that_is_there_already(self, t_env: StreamTableEnvironment) -> None:
        table = t_env.sql_query("SELECT * FROM TO_CHANGELOG(TABLE t, op => DESCRIPTOR(name))")
        assert table.get_schema().get_field_names() == ["name", "id", "name0"]

    def test_the_time_of_rows(self, t_env: StreamTableEnvironment) -> None:
        t_env.execute_sql(
            "CREATE TABLE timed (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH "
            "('connector' = 'datagen', 'number-of-rows' = '1', 'fields.k.min' = '7', "
            "'fields.k.max' = '7')"
        )
        call = "TO_CHANGELOG(TABLE timed, on_time => DESCRIPTOR(ts))"
        windows = f"TUMBLE(TABLE (SELECT * FROM {call}), DESCRIPTOR(rowtime), INTERVAL '1' DAY)"
        query = f"SELECT op, k, COUNT(*) FROM {windows} GROUP BY window_start, window_end, op, k"
        assert shown(t_env.sql_query(query)) == ["+I(INSERT, 7, 1)"]
        with pytest.raises(MillraceError, match="time attribute"):
            shown(
                t_env.sql_query(
                    query.replace(", on_time => DESCRIPTOR(ts)", "").replace(
                        "DESCRIPTOR(rowtime)", "DESCRIPTOR(ts)"
                    )
                )
            )

    def test_batch_mode_has_inserts_only(self) -> None:
        with run_local(epoch_records=1):
            t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
            assert of(
                t_env,
                "TABLE (SELECT id, COUNT(*) FROM (VALUES (1), (1), (2)) AS v (id) GROUP BY id)",
            ) == ["+I(INSERT, 1, 2)", "+I(INSERT, 2, 1)"]


class TestFromChangelog:
    def test_each_row_is_a_change(self, t_env: StreamTableEnvironment) -> None:
        expected = ["+I(1, Alice)", "+I(2, Bob)", "+U(1, Alice2)", "-D(2, Bob)", "-U(1, Alice)"]
        assert of(t_env, "input => TABLE codes", "FROM_CHANGELOG") == expected
        assert shown(t_env.from_path("codes").from_changelog()) == expected

    def test_there_and_back(self, t_env: StreamTableEnvironment) -> None:
        back = t_env.from_path("t").to_changelog().from_changelog()
        assert shown(back) == shown(t_env.from_path("t"))

    def test_aggregates_take_changes_back(self, t_env: StreamTableEnvironment) -> None:
        counted = t_env.sql_query(
            "SELECT COUNT(*) AS n, MAX(name) AS m FROM FROM_CHANGELOG(TABLE codes)"
        )
        with counted.execute().collect() as rows:
            assert tuple(list(rows)[-1]) == (1, "Alice2")

    def test_several_codes_of_a_change(self, t_env: StreamTableEnvironment) -> None:
        events = t_env.from_elements([("c", 1), ("r", 2), ("d", 1)], ["code", "n"])
        mapping = map_("c, r", "INSERT", "d", "DELETE").as_argument("op_mapping")
        found = events.from_changelog(descriptor("code").as_argument("op"), mapping)
        assert shown(found) == ["+I(1,)", "+I(2,)", "-D(1,)"]

    def test_updates_by_a_key(self, t_env: StreamTableEnvironment) -> None:
        events = [("INSERT", "a", 1), ("MODIFY", "a", 2), ("MODIFY", "b", 5), ("REMOVE", "b", 5)]
        t_env.create_temporary_view("events", t_env.from_elements(events, ["event", "k", "n"]))
        query = (
            "SELECT SUM(n) FROM FROM_CHANGELOG(TABLE events PARTITION BY k, op => "
            "DESCRIPTOR(event), op_mapping => MAP['INSERT', 'INSERT', 'MODIFY', 'UPDATE_AFTER', "
            "'REMOVE', 'DELETE'])"
        )
        with t_env.sql_query(query).execute().collect() as rows:
            assert tuple(list(rows)[-1]) == (2,)

    @pytest.mark.parametrize("op", ["'x'", "CAST(NULL AS STRING)"])
    def test_a_code_that_no_mapping_has(self, t_env: StreamTableEnvironment, op: str) -> None:
        rows = f"TABLE (SELECT * FROM (VALUES (1, {op}), (2, 'INSERT')) AS v (id, op))"
        word = "NULL op code" if "NULL" in op else "invalid op code 'x'"
        with pytest.raises(MillraceError, match=rf"line 1, column 15: [^\n]*{word}"):
            of(t_env, rows, "FROM_CHANGELOG")
        skipped = f"{rows}, error_handling => 'SKIP'"
        assert of(t_env, skipped, "FROM_CHANGELOG") == ["+I(2,)"]

    def test_batch_mode_has_no_changes(self) -> None:
        with run_local():
            t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
            rows = "TABLE (SELECT * FROM (VALUES ('INSERT', 1), ('DELETE', 1)) AS v (op, id))"
            with pytest.raises(MillraceError, match="in batch mode there are only rows that are"):
                of(t_env, rows, "FROM_CHANGELOG")
            inserts = f"{rows}, op_mapping => MAP['INSERT, DELETE', 'INSERT']"
            assert of(t_env, inserts, "FROM_CHANGELOG") == ["+I(1,)", "+I(1,)"]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("TO_CHANGELOG(op => DESCRIPTOR(a))", "TO_CHANGELOG takes a table"),
        ("TO_CHANGELOG(TABLE t, up => DESCRIPTOR(a))", "no argument 'up'; did you mean 'op'"),
        ("TO_CHANGELOG(TABLE t, op => 'a')", "op => DESCRIPTOR(c)"),
        ("TO_CHANGELOG(TABLE t, DESCRIPTOR(a, b))", "must contain exactly one column name"),
        (
            "TO_CHANGELOG(TABLE t, op_mapping => MAP['INSRT', 'I'])",
            "Unknown change operation: 'INS",
        ),
        (
            "TO_CHANGELOG(TABLE t, op_mapping => MAP['INSERT', 'I', 'DELETE, INSERT', 'D'])",
            "Duplicate change operation: 'INSERT'",
        ),
        ("TO_CHANGELOG(TABLE t, op_mapping => MAP['INSERT', 1])", "must be constant texts"),
        ("TO_CHANGELOG(TABLE codes, produces_full_deletes => FALSE)", "no upsert key"),
        ("TO_CHANGELOG(TABLE t, on_time => DESCRIPTOR(id))", "on_time must be a time attribute"),
        ("TO_CHANGELOG(TABLE t PARTITION BY id ORDER BY name)", "takes no ORDER BY"),
        ("FROM_CHANGELOG(TABLE t)", "The op column 'op' does not exist"),
        ("FROM_CHANGELOG(TABLE codes, DESCRIPTOR(opp))", "did you mean 'op'"),
        ("FROM_CHANGELOG(TABLE codes, DESCRIPTOR(id))", "must be of STRING type, it is BIGINT"),
        ("FROM_CHANGELOG(TABLE codes PARTITION BY op)", "cannot be in PARTITION BY"),
        (
            "FROM_CHANGELOG(TABLE codes, op_mapping => MAP['c', 'INSERT', 'r', 'INSERT'])",
            "Duplicate change operation: 'INSERT'",
        ),
        (
            "FROM_CHANGELOG(TABLE codes, op_mapping => MAP['c', 'INSERT', 'c, d', 'DELETE'])",
            "Duplicate op code: 'c'",
        ),
        (
            "FROM_CHANGELOG(TABLE codes, op_mapping => MAP['c', 'INSERT', 'u', 'UPDATE_AFTER'])",
            "must include UPDATE_BEFORE",
        ),
        ("FROM_CHANGELOG(TABLE codes, error_handling => 'DROP')", "must be 'FAIL' or 'SKIP'"),
    ],
)
def test_refused(t_env: StreamTableEnvironment, call: str, reason: str) -> None:
    with pytest.raises(MillraceError, match=rf"line 1, column \d+: [\s\S]*{re.escape(reason)}"):
        t_env.sql_query(f"SELECT * FROM {call}")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("op_mapping => MAP['c', 'INSERT']", "op_mapping => MAP['c', 'INSERT']", True),
        ("op_mapping => MAP['c', 'INSERT']", "op_mapping => MAP['d', 'INSERT']", False),
        ("op_mapping => MAP['c', 'INSERT']", "op_mapping => MAP['c', 'DELETE']", False),
        ("op => DESCRIPTOR(op)", "op => DESCRIPTOR(name)", False),
        ("error_handling => 'SKIP'", "error_handling => 'FAIL'", True),
    ],
)
def test_state_above_belongs_to_the_mapping(
    t_env: StreamTableEnvironment, one: str, other: str, same: bool
) -> None:
    def uid(arguments: str) -> str:
        query = f"SELECT COUNT(*) FROM FROM_CHANGELOG(TABLE codes, {arguments})"
        stream = t_env.to_changelog_stream(t_env.sql_query(query))
        pending, found = [stream._transformation], []
        while pending:
            node = pending.pop()
            pending += [each.transformation for each in node.inputs]
            if "GroupAggregate" in node.name:
                found.append(str(node.uid))
        return found[0]

    assert (uid(one) == uid(other)) is same


def test_explain_shows_the_mapping(t_env: StreamTableEnvironment) -> None:
    plan = t_env.explain_sql("SELECT * FROM TO_CHANGELOG(TABLE t PARTITION BY id)")
    assert "ToChangelog(op=[op], op_mapping=[INSERT: INSERT, " in plan
    assert "partitionBy=[id]" in plan


def test_changes_as_input_are_refused(t_env: StreamTableEnvironment) -> None:
    query = "SELECT * FROM FROM_CHANGELOG(TABLE (SELECT id, name AS op FROM t))"
    with pytest.raises(MillraceError, match="FromChangelog doesn't support consuming update"):
        t_env.sql_query(query).execute()
