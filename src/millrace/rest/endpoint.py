"""The endpoint of one job, which answers from the job's start to its end.

Semantics of the state it shows: Flink docs, "Queryable State", but read-committed.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.common.installation import missing_package
from millrace.engine.job_manager import JobManager
from millrace.engine.job_observer import JobObserver
from millrace.engine.queryable_view import QueryableView
from millrace.job_graph.job_graph import JobGraph
from millrace.rest.address_file import RestAddress
from millrace.rest.job_view import JobView
from millrace.rest.key_text import key_text
from millrace.rest.routes import Router
from millrace.runtime.epoch import Ack
from millrace.state.checkpoint.manifest import Manifest

if TYPE_CHECKING:
    from millrace.rest.server import RestServer

__all__ = ["RestEndpoint", "endpoint_of"]

log = logging.getLogger(__name__)

PACKAGES = ("starlette", "uvicorn")
"""Packages that the extra ``rest`` installs."""


def endpoint_of(job: JobManager, graph: JobGraph, configuration: Configuration) -> RestEndpoint:
    """The endpoint of a job that has not started yet.

    Raises:
        ConfigurationError: a package is missing, or as `RestEndpoint` does.
    """
    _require_packages()
    program = graph.program
    operators = {node.uid: node.name for stage in program.stages for node in stage.nodes}
    return RestEndpoint(job, program.job_name, operators, configuration)


class RestEndpoint(JobObserver):
    """Serves a job's state and progress over HTTP.

    Raises:
        ConfigurationError: the token cannot be sent in a header; or, when the job starts, the
            address cannot be used.
    """

    def __init__(
        self, job: JobManager, name: str, operators: dict[str, str], configuration: Configuration
    ) -> None:
        self.view = QueryableView(text=key_text)
        self._router = Router(JobView(job, name, operators, self.view))
        self._bind_address = configuration.get(options.REST_BIND_ADDRESS)
        self._port = configuration.get(options.REST_PORT)
        self._token = _checked(configuration.get(options.REST_TOKEN)) or secrets.token_urlsafe(32)
        self._server: RestServer | None = None
        self._job_dir = ""
        self.address: RestAddress | None = None
        """Address of the endpoint; None if it does not run."""

    def started(self, job_dir: str) -> None:
        from millrace.rest.server import RestServer

        address, port = self._bind_address, self._port
        try:
            self._server = RestServer(address, port, self._token, self._router.get)
            self.address = RestAddress(self._server.url, self._token)
            path = self.address.write(job_dir)
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"the REST endpoint cannot be opened at {address}:{port}: {error}; choose another "
                "rest.bind-address or rest.port (0: any that is free)"
            ) from error
        self._job_dir = job_dir
        log.info("the REST endpoint is %s, its token is in %s", self._server.url, path)
        if not _is_loopback(address):
            log.warning("other machines can reach %s, and nothing is encrypted", self._server.url)
        self.view.started(job_dir)

    def accepted(self, acks: Sequence[Ack]) -> None:
        self.view.accepted(acks)

    def committed(self, manifest: Manifest) -> None:
        self.view.committed(manifest)

    def closed(self) -> None:
        if self._server is not None:
            self._server.close()
        if self.address is not None:
            self.address.remove(self._job_dir)
        self.view.closed()


def _require_packages() -> None:
    for name in PACKAGES:
        if find_spec(name) is None:
            raise ConfigurationError(missing_package("rest.enabled needs", name, "rest"))


def _checked(token: str | None) -> str | None:
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise ConfigurationError("rest.token must be ASCII letters, digits and signs, no spaces")
    return token


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
