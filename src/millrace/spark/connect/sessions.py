"""Sessions of jobs on a Spark Connect server."""

from __future__ import annotations

import copy
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from millrace.common.errors import ConfigurationError
from millrace.common.installation import install_command
from millrace.spark.connect.remote import Remote

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

__all__ = ["active_session", "end_session", "has_session", "session_beside", "session_of"]

log = logging.getLogger(__name__)

_MODULE = "pyspark.sql.connect.session"
_SESSION_ID = "session_id"
"""Parameter of an address that names a session."""
_SERVER_HERE = "SPARK_LOCAL_REMOTE"
"""Variable that PySpark sets if it has started the server itself."""


def session_of(remote: Remote) -> SparkSession:
    """A new session on a server."""
    # not the builder's: that would be the program's session, if it has one
    session: SparkSession = _sessions()(connection=remote.url)
    return session


def has_session() -> bool:
    """Whether the program has a session on a Spark Connect server, whichever thread made it."""
    module = sys.modules.get(_MODULE)  # PySpark stays out of programs without Spark
    if module is None:
        return False
    try:
        module.SparkSession.active()
    except Exception:  # PySpark's errors are not imported here
        return False
    return True


def active_session() -> SparkSession:
    """The program's session: that of this thread, or else the first session that has not ended."""
    session: SparkSession = _sessions().active()
    return session


def session_beside(session: SparkSession) -> SparkSession | None:
    """A new session on the server of another session; None if PySpark does not reveal how to
    connect to that server.

    A job has a session of its own, so that jobs of a notebook may ship modules of the same name,
    and ship them again after a change.
    """
    try:
        if hasattr(session, "newSession"):  # from PySpark 4.3 on
            return session.newSession()
        client: Any = session.client
        connection = copy.deepcopy(client._builder)
        connection._params.pop(_SESSION_ID, None)
        return type(session)(connection=connection, userId=client._user_id)
    except Exception as error:  # of a hosted service's own PySpark
        log.info("the job runs in the program's session: %s: %s", type(error).__name__, error)
        return None


def end_session(session: SparkSession) -> None:
    """End a session; the server stays."""
    if _SERVER_HERE not in os.environ:
        session.stop()
        return
    # stop() would end the server, which this process has started for the program's session
    try:
        session.client.release_session()
        session.client.close()
    except Exception as error:  # the server may have gone
        log.debug("a session could not be released", exc_info=error)


def _sessions() -> Any:
    """PySpark's class of sessions on Spark Connect servers.

    Raises:
        ConfigurationError: a package is missing.
    """
    try:
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise ConfigurationError(
            f"Spark Connect needs further packages: {install_command('connect')} ({error})"
        ) from error
    return SparkSession
