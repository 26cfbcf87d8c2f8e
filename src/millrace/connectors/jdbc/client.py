"""Connections to databases through SQLAlchemy, and the translation of their errors."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError
from millrace.connectors.jdbc.connection_options import (
    JdbcConnectionOptions,
    database_kind,
    masked,
    split_jdbc_url,
)

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

__all__ = ["JdbcError", "connect", "create_engine", "telling"]

_CONNECT_TIMEOUT_S = 15
_DRIVERS = {
    "postgresql": ("psycopg", "psycopg[binary]"),
    "mysql": ("pymysql", "pymysql"),
    "mariadb": ("pymysql", "pymysql"),
}
_KEEPALIVES = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Settings of libpq: a server that vanishes is noticed in a minute, not in hours."""
_LIBPQ_DRIVERS = ("psycopg", "psycopg2")
_SQLITE_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR")
_POSTGRESQL_REFUSED = ("28", "3D")
"""Wrong user or password, no such database."""
_MYSQL_PASSING = {1040, 1053, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1927}
"""Too many connections, shutdown, network, lock wait, deadlock, killed."""
_MYSQL_CLIENT_ERRORS = 2000
_RENAMED = {"ApplicationName": "application_name", "connectTimeout": "connect_timeout"}
_JAVA_ONLY = {
    *("allowMultiQueries", "allowPublicKeyRetrieval", "autoReconnect", "characterEncoding"),
    *("reWriteBatchedInserts", "rewriteBatchedStatements", "serverTimezone", "stringtype"),
    *("tinyInt1isBit", "useCursorFetch", "useSSL", "useServerPrepStmts", "useUnicode"),
}
"""Properties of JDBC drivers that say nothing here."""


class JdbcError(ConnectorError):
    """A database cannot be reached, or does not allow the reads or writes of the job."""


def create_engine(options: JdbcConnectionOptions) -> Engine:
    """Engine that makes connections to a database; returned connections are not pooled.

    Raises:
        JdbcError: SQLAlchemy or the driver is missing, or they do not know the URL.
    """
    sqlalchemy = _import_sqlalchemy(options)
    try:
        url = _engine_url(options)
        engine: Engine = sqlalchemy.create_engine(
            url,
            poolclass=sqlalchemy.pool.NullPool,
            pool_reset_on_return=None,  # it is closed, which rolls back
            hide_parameters=True,  # values and passwords stay out of messages
            connect_args=_arguments(url),
        )
        return engine
    except sqlalchemy.exc.NoSuchModuleError as error:
        raise JdbcError(f"{masked(options.url)}: {error}") from None
    except (sqlalchemy.exc.ArgumentError, ValueError, TypeError):  # they may quote a password
        raise JdbcError(
            f"{masked(options.url)} is not the URL of a database, such as "
            "jdbc:postgresql://host:5432/name; special characters in a password are escaped "
            "(@ as %40), or the password is passed by with_password()"
        ) from None


def _arguments(url: URL) -> dict[str, Any]:
    """Arguments for the driver; values in the URL take precedence."""
    if url.get_backend_name() == "sqlite":
        # commits are made in a thread of their own
        return {"check_same_thread": False, "timeout": 60}
    arguments = {"connect_timeout": _CONNECT_TIMEOUT_S}
    if url.get_driver_name() in _LIBPQ_DRIVERS:
        arguments |= _KEEPALIVES
    return {name: value for name, value in arguments.items() if name not in url.query}


def connect(engine: Engine) -> Connection:
    """Open a connection to the database.

    Raises:
        ConnectionError: the server does not answer, or does not let the user in.
        JdbcError: the driver does not know a property of the URL.
    """
    with telling(engine):
        return engine.connect()


@contextmanager
def telling(engine: Engine) -> Iterator[None]:
    """Turn errors of SQLAlchemy and of the driver into errors that people can read, without
    passwords.

    Raises:
        ConnectionError: what may be otherwise the next time: the engine tries again.
        JdbcError: what will not.
    """
    import sqlalchemy

    driver: Any = engine.dialect.dbapi
    try:
        yield
    except (sqlalchemy.exc.DBAPIError, driver.Error) as error:
        original = getattr(error, "orig", None) or error
        said = " ".join(str(original).split())
        if engine.url.password:
            said = said.replace(str(engine.url.password), "***")
        kind = ConnectionError if _passes(original, engine) else JdbcError
        raise kind(f"{_where(engine.url)}: {said}") from None


def _passes(error: Any, engine: Engine) -> bool:
    """Whether a retry may succeed."""
    driver: Any = engine.dialect.dbapi
    if not isinstance(error, (driver.OperationalError, driver.InterfaceError)):
        return False
    kind = engine.url.get_backend_name()
    if kind == "sqlite":
        return getattr(error, "sqlite_errorname", "").startswith(_SQLITE_PASSING)
    if kind == "postgresql":
        refused = str(getattr(error, "sqlstate", None) or "").startswith(_POSTGRESQL_REFUSED)
        return not refused and "authentication failed" not in str(error)
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    return number in _MYSQL_PASSING or number == 0 or number >= _MYSQL_CLIENT_ERRORS


def _where(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"SQLite database {url.database}"
    port = f":{url.port}" if url.port else ""
    return f"database {url.database} of {url.get_backend_name()} at {url.host}{port}"


def _engine_url(options: JdbcConnectionOptions) -> URL:
    from sqlalchemy.engine import make_url

    plain, properties = split_jdbc_url(options.url)
    url = make_url(plain)
    kind = url.get_backend_name()
    if "+" not in url.drivername and kind in _DRIVERS:
        url = url.set(drivername=f"{kind}+{_DRIVERS[kind][0]}")
    user = options.user_name or properties.pop("user", None) or url.username
    password = options.password or properties.pop("password", None) or url.password
    url = url.set(username=user, password=password)
    properties = {k: v for k, v in properties.items() if k not in {"user", "password"}}
    return url.update_query_dict(_translated(properties))


def _translated(properties: dict[str, str]) -> dict[str, str]:
    """Properties of JDBC drivers as arguments of Python drivers."""
    arguments = {_RENAMED.get(k, k): v for k, v in properties.items() if k not in _JAVA_ONLY}
    if arguments.pop("ssl", "") == "true":
        arguments.setdefault("sslmode", "require")
    schema = arguments.pop("currentSchema", None)
    if schema:
        arguments["options"] = f"-csearch_path={schema}"
    return arguments


def _import_sqlalchemy(options: JdbcConnectionOptions) -> Any:
    driver, package = _DRIVERS.get(database_kind(options.url), ("sqlite3", ""))
    try:
        import sqlalchemy
    except ImportError as error:
        raise _missing("sqlalchemy") from error
    given = options.url.partition(":")[0].partition("+")[2]
    if not given and importlib.util.find_spec(driver) is None:
        raise _missing(package)
    return sqlalchemy


def _missing(package: str) -> JdbcError:
    return JdbcError(missing_package("the JDBC connector needs", package, "jdbc", on_workers=True))
