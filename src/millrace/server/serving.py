"""Serving: sets up a job server, from its registry to its shutdown."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from logging.handlers import RotatingFileHandler
from pathlib import Path

from millrace.common.config.configuration import Configuration
from millrace.common.errors import (
    ConfigurationError,
    MillraceError,
    StateError,
    UnsupportedFileSystemSchemeError,
)
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.filesystem.location import qualified
from millrace.rest.connection_limit import ConnectionLimit
from millrace.rest.http_server import HttpServer, TlsFiles
from millrace.server.access_tokens import AccessTokens, token_in
from millrace.server.application import create_application
from millrace.server.high_availability import create_leadership
from millrace.server.high_availability_options import HA_STORAGE_DIR
from millrace.server.job_server import JobServer, ServerSettings
from millrace.server.kept_answers import KEPT_SECONDS
from millrace.server.lock_leadership import RegistryTakenError
from millrace.server.server_address import ServerAddress
from millrace.server.server_options import JOB_STORE_CAPACITY, JOB_STORE_EXPIRATION
from millrace.server.sql_registry import SqlRegistry, shown_url
from millrace.server.standby import Standby
from millrace.server.supervisor import Supervisor
from millrace.server.term_of_office import TermOfOffice

__all__ = ["DEFAULT_PORT", "ServerOptions", "serve"]

log = logging.getLogger(__name__)

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8081
OPERATE_TOKEN, READ_TOKEN = "operate.token", "read.token"
MOST_CONNECTIONS = 512
_LOG_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Options of ``millrace server``."""

    directory: Path
    savepoints: Path
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    """Port to listen on; 0 for any free one."""
    registry: str | None = None
    """URL of the registry; None for SQLite in `directory`."""
    token_file: Path | None = None
    """File with the operate token; None for a generated one in `directory`."""
    read_token_file: Path | None = None
    authenticate: bool = True
    tls: TlsFiles | None = None
    allow_uploads: bool = False
    programs: Path | None = None
    configuration: Configuration = field(default_factory=Configuration)
    """All options of the server, with their origins."""
    job_defaults: Configuration = field(default_factory=Configuration)
    """Settings of all jobs, which those of their programs override."""
    config_file: Path | None = None
    """The file ``config.yaml``; None if there is none."""
    advertised: str | None = None
    """URL by which others reach the server; None for the address that it is bound to."""

    @property
    def storage(self) -> Path | None:
        """Directory that all servers with the same registry share; None if the server has only its
        own `directory`.
        """
        named = self.configuration.get(HA_STORAGE_DIR)
        return None if named is None else _mounted(named)

    @property
    def registry_url(self) -> str:
        """The URL of the registry."""
        return self.registry or f"sqlite:///{self.directory / 'registry.db'}"

    def settings(self) -> ServerSettings:
        """The options that routes need."""
        return ServerSettings(
            directory=self.directory,
            savepoints=self.savepoints,
            registry=shown_url(self.registry_url),
            allow_uploads=self.allow_uploads,
            programs=self.programs,
            storage=self.storage,
            configuration=self.configuration,
            job_defaults=self.job_defaults,
            config_file=self.config_file,
        )


def serve(options: ServerOptions, ready: Callable[[ServerAddress], None]) -> None:
    """Run a server until a signal or a request ends it; its jobs keep running.

    Args:
        ready: called when it can be reached.

    Raises:
        ConfigurationError: the options do not go together.
        StateError: the registry cannot be had, or another server has it.
    """
    check_authentication(options)
    LocalFileSystem().make_directory(str(options.directory), durable=False)
    if not options.directory.is_dir():
        raise ConfigurationError(f"--directory {options.directory} is a file; name a directory")
    tokens = tokens_of(options)
    registry = SqlRegistry(options.registry_url)
    try:
        settings = options.settings()
        log_to(settings.log)
        supervisor = supervisor_of(options, registry, settings)
        server = JobServer(settings, registry, supervisor)
        http = http_server(options, server, tokens)
        server.end = http.end
        url = options.advertised or http.url
        server.alerts.address = url
        server.leadership = create_leadership(options.configuration, registry, url)
        term = TermOfOffice(server.leadership, registry, server)
        try:
            _stand_for_election(term, options)
            server.start()
            address = ServerAddress(http.url, tokens.operate, os.getpid())
            with _announced(address, options):
                ready(address)
                http.run()
        finally:
            log.info("the server ends; its jobs continue to run")
            http.close()
            term.close()
            server.close()
    finally:
        registry.close()


def supervisor_of(
    options: ServerOptions, registry: SqlRegistry, settings: ServerSettings
) -> Supervisor:
    """The supervisor of a server's jobs."""
    expiration = options.configuration.get(JOB_STORE_EXPIRATION)
    return Supervisor(
        registry,
        settings.jobs,
        capacity=options.configuration.get(JOB_STORE_CAPACITY),
        expiration=None if expiration is None else expiration.to_millis(),
        defaults=options.job_defaults,
    )


def _stand_for_election(term: TermOfOffice, options: ServerOptions) -> None:
    try:
        term.start()
    except RegistryTakenError as error:
        raise StateError(f"{_taken(options)}: {error}") from None


@contextmanager
def _announced(address: ServerAddress, options: ServerOptions) -> Iterator[None]:
    address.write(options.directory)
    log.info("the server is at %s", address.url)
    try:
        yield
    finally:
        address.remove(options.directory)


def check_authentication(options: ServerOptions) -> None:
    """Raise ConfigurationError if people other than the server's user could operate the server."""
    if not options.authenticate and not is_loopback(options.host):
        raise ConfigurationError(
            f"--no-auth goes only with a loopback address, not with {options.host}: "
            "everybody on the network could run programs"
        )
    if not is_loopback(options.host) and options.tls is None:
        log.warning(
            "the server is reached over the network without TLS: tokens can be read on the way; "
            "give --tls-cert and --tls-key, or put a proxy with TLS before it"
        )


def is_loopback(host: str) -> bool:
    """Whether a host can be reached from this machine only.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost")
        (True, True, True)
        >>> is_loopback("0.0.0.0"), is_loopback("example.org")
        (False, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def tokens_of(options: ServerOptions) -> AccessTokens:
    """The tokens of a server; tokens that are not configured are generated.

    Raises:
        ConfigurationError: a token file cannot be read.
    """
    if not options.authenticate:
        return AccessTokens()
    operate = options.token_file or options.directory / OPERATE_TOKEN
    read = options.read_token_file or options.directory / READ_TOKEN
    return AccessTokens(
        read=token_in(read, make=options.read_token_file is None),
        operate=token_in(operate, make=options.token_file is None),
    )


def http_server(options: ServerOptions, server: JobServer, tokens: AccessTokens) -> HttpServer:
    """The HTTP server of a job server.

    Raises:
        ConfigurationError: its address cannot be bound.
    """
    application = create_application(server, tokens, kept_seconds=KEPT_SECONDS)
    try:
        # of more than that, the oldest give way: the process may have only so many files open
        limit = ConnectionLimit(MOST_CONNECTIONS, None)
        led = Standby(application, lambda: server.leadership)
        return HttpServer(led, options.host, options.port, options.tls, limit)
    except (OSError, OverflowError) as error:  # ports end at 65535
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"{options.host}:{options.port} cannot be bound: {reason}; give another --port"
        ) from None


def log_to(path: Path) -> None:
    """Send the server's log to a file, which is rotated."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    handler = RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(handler)


def _mounted(named: str) -> Path:
    """The directory of ``high-availability.storage-dir``, a path or a ``file:`` URI.

    Raises:
        ConfigurationError: the directory is in an object store.
    """
    try:
        return Path(qualified(named))
    except UnsupportedFileSystemSchemeError:
        raise ConfigurationError(
            f"{HA_STORAGE_DIR.key} must be a directory that all servers mount under the same "
            f"path, not {named!r}: give a path such as /mnt/millrace"
        ) from None


def _taken(options: ServerOptions) -> str:
    try:
        where = f" at {ServerAddress.read(options.directory).url}"
    except MillraceError:
        where = ""
    return f"another server{where} has the registry {shown_url(options.registry_url)}"
