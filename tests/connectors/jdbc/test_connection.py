"""Connections: URLs of both worlds, errors that say what to do, passwords that nobody sees."""

from __future__ import annotations

import logging
import pickle
import sys
from typing import Any

import pytest
from databases import Database, write
from postgresql import PostgreSQL
from service import free_ports

from millrace.common import Row, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.common.sink import CommitterContext
from millrace.connectors.jdbc import JdbcConnectionOptions, JdbcError, JdbcSource
from millrace.connectors.jdbc.client import create_engine
from millrace.connectors.jdbc.commit_log import staging_table
from millrace.connectors.jdbc.connection_options import masked
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

SECRET = "s3cr3t"


def options(url: str, user: str | None = None, password: str | None = None) -> Any:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url)
    if user is not None:
        builder.with_user_name(user)
    if password is not None:
        builder.with_password(password)
    return builder.with_driver_name("org.postgresql.Driver").build()


@pytest.mark.parametrize(
    ("url", "known"),
    [
        ("jdbc:postgresql://db:5432/shop", "postgresql+psycopg://ada:s3cr3t@db:5432/shop"),
        ("jdbc:postgresql:shop", "postgresql+psycopg://ada:s3cr3t@localhost/shop"),
        ("postgresql://db/shop", "postgresql+psycopg://ada:s3cr3t@db/shop"),
        ("postgresql+psycopg://bob:x@db/shop", "postgresql+psycopg://ada:s3cr3t@db/shop"),
        (
            "jdbc:postgresql://db/shop?user=bob&password=x&ssl=true&reWriteBatchedInserts=true",
            "postgresql+psycopg://ada:s3cr3t@db/shop?sslmode=require",
        ),
        ("jdbc:mysql://db/shop?useSSL=false", "mysql+pymysql://ada:s3cr3t@db/shop"),
        ("jdbc:mariadb://db/shop", "mariadb+pymysql://ada:s3cr3t@db/shop"),
    ],
)
def test_urls(url: str, known: str) -> None:
    engine = create_engine(options(url, "ada", SECRET))
    assert engine.url.render_as_string(hide_password=False) == known


def test_a_url_may_have_user_and_password() -> None:
    engine = create_engine(options(f"jdbc:postgresql://db/shop?user=ada&password={SECRET}"))
    assert (engine.url.username, engine.url.password) == ("ada", SECRET)
    assert engine.url.query == {}


def parameters(url: str) -> dict[str, str]:
    """With which libpq has connected."""
    with create_engine(options(url)).connect() as connection:
        driver: Any = connection.connection.driver_connection
        found: dict[str, str] = driver.info.get_parameters()
        return found


def test_a_server_that_is_gone_is_noticed(postgresql: PostgreSQL) -> None:
    """By probes of the connection, as the URL says them."""
    found = parameters(postgresql.url())
    assert found["connect_timeout"] == "15"
    assert found["keepalives_idle"] == "30"
    assert found["tcp_user_timeout"] == "60000"
    other = parameters(f"{postgresql.url()}?connect_timeout=7&keepalives_idle=300")
    assert (other["connect_timeout"], other["keepalives_idle"]) == ("7", "300")
    assert other["tcp_user_timeout"] == "60000"


@pytest.mark.parametrize(
    "url",
    [
        f"jdbc:postgresql://db/shop?password={SECRET}&user=ada",
        f"postgresql://ada:{SECRET}@db/shop",
        f"postgresql://ada:{SECRET}/with@signs@db/shop",
    ],
)
def test_passwords_are_not_shown(url: str) -> None:
    found = options(url, "ada", SECRET)
    for text in (repr(found), str(found), found.get_db_url(), masked(url), f"{found!r}"):
        assert SECRET not in text
        assert "***" in text
    assert pickle.loads(pickle.dumps(found)) == found


def test_wrong_urls_are_refused() -> None:
    with pytest.raises(JobDefinitionError, match="no database has the URL 'jdbc:oracle:thin"):
        options("jdbc:oracle:thin:@db")
    with pytest.raises(JdbcError, match=r"is not the URL of a database.*with_password") as refused:
        create_engine(options(f"postgresql://ada:{SECRET}@db:port/shop"))
    assert SECRET not in str(refused.value)


def test_a_wrong_password_is_told_and_not_shown(
    postgresql: PostgreSQL, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    url = f"postgresql://{postgresql.user}:{SECRET}@127.0.0.1:{postgresql.port}/postgres"
    sink = Database(url).count_sink()
    with pytest.raises(MillraceError, match=r"cannot start.*password authentication") as refused:
        sink.create_committer(CommitterContext())
    assert SECRET not in str(refused.value)
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capsys.readouterr())


def test_a_server_that_is_not_there_is_told() -> None:
    [port] = free_ports(1)
    database = Database(f"postgresql://ada:{SECRET}@127.0.0.1:{port}/shop")
    with pytest.raises(MillraceError, match=rf"cannot start: database shop .*:{port}"):
        write([Row("a", 1)], database.count_sink(retries=0))
    source = JdbcSource.builder().set_connection_options(database.options).set_table("t").build()
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_source(source, WatermarkStrategy.no_watermarks(), "t").print()
        assert SECRET not in env.get_execution_plan()
        env.from_source(source, WatermarkStrategy.no_watermarks(), "t").print()
        with pytest.raises(MillraceError, match=rf"cannot be found: database shop .*:{port}"):
            env.execute("unreachable")


def test_without_its_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(JdbcError, match=r"needs the package sqlalchemy.*'millrace\[jdbc\]'"):
        create_engine(options("jdbc:postgresql://db/shop"))
    monkeypatch.undo()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(JdbcError, match=r"needs the package pymysql"):
        create_engine(options("jdbc:mariadb://db/shop"))


def test_staging_tables_have_names_of_their_own() -> None:
    """Whatever the sinks' ids are, and however long."""
    ids = ["a b", "a_b", "a-b", "x" * 80, "x" * 81, "ä", "注" * 30]
    names = {staging_table(sink_id, "t") for sink_id in ids}
    assert len(names) == len(ids)
    assert max(len(name.encode()) for name in names) <= 60
