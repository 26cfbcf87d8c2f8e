"""Errors about options of a table show the statement that declares the option."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

ORDERS = """CREATE TABLE orders (id INT) WITH (
    'connector' = 'datagen',
    'rows-per-secnd' = '5'
)"""


@pytest.fixture
def t_env() -> Iterator[TableEnvironment]:
    with run_local():
        yield TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def refusal(t_env: TableEnvironment, *statements: str) -> str:
    *before, last = statements
    for statement in before:
        t_env.execute_sql(statement)
    with pytest.raises(JobDefinitionError) as raised:
        t_env.execute_sql(last)
    return str(raised.value)


def test_an_unknown_option(t_env: TableEnvironment) -> None:
    assert refusal(t_env, ORDERS, "SELECT id FROM orders") == (
        "'connector' = 'datagen' has no option 'rows-per-secnd'; did you mean 'rows-per-second'?\n"
        "in line 3, column 5 of the declaration of table orders:\n"
        "    'rows-per-secnd' = '5'\n"
        "    ^^^^^^^^^^^^^^^^"
    )


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("'connector' = 'datagen', 'number-of-rows' = 'many'", "'number-of-rows'"),
        ("'connector' = 'filesystem', 'path' = '/no'", "'connector'"),
        ("'connector' = 'filesystem', 'path' = '/no', 'format' = 'jsn'", "'format'"),
        ("'connector' = 'python', 'source' = 'no_module:x'", "'source'"),
    ],
)
def test_the_option_that_the_error_is_about(
    t_env: TableEnvironment, options: str, shown: str
) -> None:
    """Also in errors of connectors, which name their options in quotes."""
    declared = f"CREATE TABLE t (id INT) WITH ({options})"
    *_, line, carets = refusal(t_env, declared, "SELECT id FROM t").splitlines()
    assert line == declared
    assert line[carets.index("^") :].startswith(shown)
    assert carets.strip() == "^" * len(shown)


def test_secrets_beside_the_option_are_hidden(t_env: TableEnvironment) -> None:
    options = "'connector' = 'jdbc', 'password' = 'pw1', 'url' = 'jdbc:postgresql://ada:pw2@h/db'"
    declared = f"CREATE TABLE t (id INT) WITH ({options}, 'tabel-name' = 't')"
    *_, line, carets = refusal(t_env, declared, "SELECT id FROM t").splitlines()
    hidden = declared.replace("pw1", "***").replace("pw2", "***")
    assert line == hidden
    assert line[carets.index("^") :].startswith("'tabel-name'")


@pytest.mark.parametrize(
    ("key", "value", "is_hidden"),
    [
        ("pasword", "pw", True),
        ("acces-key", "AKIA", True),
        ("sasl.jass.config", "login username=a password=b;", True),
        ("http-heders", "Cookie: x", True),
        ("headers", "Authorization: Bearer x", True),
        ("sasl.jass.config", 'OAuthBearerLoginModule required clientSecret="s3cr3t";', True),
        ("headers", "X-Api-Key: abc", True),
        ("header", "Cookie: session=abc", True),
        ("alert.webhook", "https://hooks.slack.com/services/T0/B0/x", True),
        ("alert.adress", "https://hooks.slack.com/services/T0/B0/x", True),
        ("azure.ass", "sv=1&sig=x", True),
        ("azure.ass", "x", True),
        ("azure.signatur", "sv=1&sig=x", True),
        ("fs.azure.acount.key.me.dfs.core.windows.net", "KEY==", True),
        ("connection", "Endpoint=sb://h/;SharedAccessKey=x", True),
        ("connection", "AccountName=me;AccountKey=x", True),
        ("auth", "x", True),
        ("authorization", "x", True),
        ("http.auth", "x", True),
        ("http.auth.kind", "x", True),
        ("oauth.url", "x", True),
        ("sas", "4fJq8Zt0Yw2mXcRk7LbE", True),
        ("sas", "0123456789abcdef0123", True),
        ("sas", "c2VjcmV0IHNlY3JldA==", True),
        ("pth", "/nowhere/in/the/long-run", False),
        ("pth", "/nowhere", False),
        ("dialekt", "SQL", False),
        ("rows-per-secnd", "1", False),
        ("fields.id.kinds", "sequence", False),
        ("key.feilds", "id", False),
        ("csv.field-delimeter", ";", False),
    ],
)
def test_the_value_of_an_unknown_option_is_hidden_if_it_may_be_a_secret(
    t_env: TableEnvironment, key: str, value: str, is_hidden: bool
) -> None:
    declared = f"CREATE TABLE t (id INT) WITH ('connector' = 'datagen', '{key}' = '{value}')"
    *_, line, carets = refusal(t_env, declared, "SELECT id FROM t").splitlines()
    assert line == (declared.replace(value, "*" * len(value)) if is_hidden else declared)
    assert line[carets.index("^") :].startswith(f"'{key}'")


def test_a_sink(t_env: TableEnvironment) -> None:
    declared = "CREATE TABLE s (id INT) WITH ('connector' = 'print', 'standard-err' = 'true')"
    told = refusal(t_env, declared, "INSERT INTO s VALUES (1)")
    assert "of the declaration of table s:\n" in told


def test_an_altered_option_is_shown_in_the_statement_that_alters_it(
    t_env: TableEnvironment,
) -> None:
    correct = "CREATE TABLE t (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')"
    altered = "ALTER TABLE t SET ('number-of-rows' = 'three')"
    assert altered in refusal(t_env, correct, altered, "SELECT id FROM t")


def test_a_copied_option_is_shown_in_the_statement_of_its_table(t_env: TableEnvironment) -> None:
    told = refusal(t_env, ORDERS, "CREATE TABLE copy LIKE orders", "SELECT id FROM copy")
    assert "of the declaration of table orders:\n    'rows-per-secnd'" in told


def test_an_option_of_a_hint_is_shown_in_the_query(t_env: TableEnvironment) -> None:
    correct = "CREATE TABLE t (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')"
    query = "SELECT id FROM t /*+ OPTIONS('number-of-row' = '2') */"
    told = refusal(t_env, correct, query)
    assert told.startswith("line 1, column 16: ")
    assert query in told


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM t /*+ OPTIONS('pasword' = 'hunter2') */",
        "SELECT id FROM t /*+ OPTIONS('user-key' = 'hunter2') */",
        "INSERT INTO t /*+ OPTIONS('pasword' = 'hunter2') */ SELECT 1",
        "SELECT nothing FROM t /*+ OPTIONS('pasword' = 'hunter2', 'scret' = 'hunter2') */",
        "SELECT id FROM missing /*+ OPTIONS('tokn' = 'hunter2', 'db.pwd' = 'hunter2') */",
        "SELECT id FROM t /*+ OPTIONS('number-of-rows' = 'many', 'passwort' = 'hunter2') */",
    ],
)
def test_a_secret_with_a_misspelt_key_is_hidden_in_hints(
    t_env: TableEnvironment, query: str
) -> None:
    correct = "CREATE TABLE t (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')"
    assert "hunter2" not in refusal(t_env, correct, query)


def test_what_a_table_cannot_do_is_shown_in_the_query(t_env: TableEnvironment) -> None:
    told = refusal(
        t_env, "CREATE TABLE s (id INT) WITH ('connector' = 'print')", "SELECT id FROM s"
    )
    assert told.splitlines()[1] == "SELECT id FROM s"
