"""Address and credentials of a database, with PyFlink's names. URLs may have the form of JDBC or
SQLAlchemy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from millrace.common.errors import JobDefinitionError

__all__ = ["JdbcConnectionOptions"]

_JDBC = re.compile(r"jdbc:(?P<rest>(?P<kind>[a-z]+):.*)", re.DOTALL)
# up to the last @: in a password that should have been quoted there may be some
_PASSWORD = re.compile(r"(?P<before>//[^/@:?]*:).*(?=@)|(?P<name>\bpassword=)[^&]*", re.I)
_KINDS = ("postgresql", "mysql", "mariadb", "sqlite")


@dataclass(frozen=True, repr=False)
class JdbcConnectionOptions:
    """URL, user and password of a database. PyFlink: class ``JdbcConnectionOptions``.

    A URL is one of Java's (``jdbc:postgresql://host:5432/shop``) or one of SQLAlchemy's
    (``postgresql+psycopg://host/shop``). The password is shown nowhere: it is in no checkpoint, and
    texts about the database leave it out.

    Example:
        >>> options = (
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:postgresql://localhost:5432/shop")
        ...     .with_user_name("ada")
        ...     .with_password("secret")
        ...     .build()
        ... )
        >>> options
        JdbcConnectionOptions('jdbc:postgresql://localhost:5432/shop', user 'ada')
    """

    url: str
    driver_name: str | None = None
    user_name: str | None = None
    password: str | None = None

    class JdbcConnectionOptionsBuilder:
        """Collects the options; names as in PyFlink."""

        def __init__(self) -> None:
            self._options = JdbcConnectionOptions("")

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the database's URL."""
            return self._with(url=url)

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Accepted for PyFlink programs, without effect: the name of a Java class."""
            return self._with(driver_name=driver_name)

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user, which takes precedence over one in the URL."""
            return self._with(user_name=user_name)

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password, which takes precedence over one in the URL."""
            return self._with(password=password)

        def _with(self, **options: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._options = replace(self._options, **options)
            return self

        def build(self) -> JdbcConnectionOptions:
            """The options as set so far.

            Raises:
                JobDefinitionError: there is no URL, or it is of no database that is known.
            """
            database_kind(self._options.url)
            return self._options

    def get_db_url(self) -> str:
        """The given URL, without a password."""
        return masked(self.url)

    def get_driver_name(self) -> str | None:
        """The given name of the Java class."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """The user that was given separately from the URL."""
        return self.user_name

    def get_password(self) -> str | None:
        """The password that was given separately from the URL."""
        return self.password

    @property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL."""
        return database_kind(self.url) == "postgresql"

    def __repr__(self) -> str:
        user = f", user {self.user_name!r}" if self.user_name else ""
        return f"JdbcConnectionOptions({masked(self.url)!r}{user})"


def masked(url: str) -> str:
    """A URL for display, without secrets.

    Example:
        >>> masked("jdbc:mysql://db/shop?user=ada&password=secret")
        'jdbc:mysql://db/shop?user=ada&password=***'
        >>> masked("postgresql://ada:secret@db/shop")
        'postgresql://ada:***@db/shop'
    """
    return _PASSWORD.sub(lambda match: (match["before"] or match["name"]) + "***", url)


def database_kind(url: str) -> str:
    """The kind of database that a URL refers to.

    Raises:
        JobDefinitionError: of none that is known.

    Example:
        >>> database_kind("jdbc:mariadb://db/shop"), database_kind("sqlite:///shop.db")
        ('mariadb', 'sqlite')
    """
    match = _JDBC.fullmatch(url) if isinstance(url, str) else None
    kind = match["kind"] if match else str(url).partition(":")[0].partition("+")[0]
    if kind not in _KINDS:
        shown = masked(url) if isinstance(url, str) else url
        raise JobDefinitionError(
            f"no database has the URL {shown!r}: it begins with one of "
            + ", ".join(f"jdbc:{name}:" for name in _KINDS)
            + ", or is one of SQLAlchemy's"
        )
    return kind


def split_jdbc_url(url: str) -> tuple[str, dict[str, str]]:
    """A JDBC URL as a SQLAlchemy URL with separate properties; other URLs are unchanged.

    Example:
        >>> split_jdbc_url("jdbc:postgresql://db/shop?ssl=true")
        ('postgresql://db/shop', {'ssl': 'true'})
        >>> split_jdbc_url("jdbc:sqlite:/data/shop.db")
        ('sqlite:////data/shop.db', {})
    """
    match = _JDBC.fullmatch(url)
    if match is None:
        return url, {}
    plain, _, query = match["rest"].partition("?")
    kind, _, rest = plain.partition(":")
    if kind == "sqlite":
        return f"sqlite:///{rest}", {}
    if not rest.startswith("//"):  # jdbc:postgresql:shop
        rest = f"//localhost/{rest.lstrip('/')}"
    return f"{kind}:{rest}", dict(parse_qsl(query))
