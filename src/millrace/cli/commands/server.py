"""``millrace server``: the job server."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millrace.cli.arguments import (
    UsageError,
    add_config_file,
    add_settings,
    location,
    port,
    require_known,
)
from millrace.cli.commands.grammar import Commands
from millrace.common.config.config_file import settings_for
from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import Configuration
from millrace.common.config.options import REST_BIND_ADDRESS, REST_PORT, SAVEPOINT_DIR
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.errors import ConfigurationError, MillraceError
from millrace.common.installation import missing_package
from millrace.server import server_options
from millrace.server.high_availability_options import HA_TYPE

if TYPE_CHECKING:
    from millrace.server.server_address import ServerAddress
    from millrace.server.serving import ServerOptions

REGISTRY_VARIABLE = "MILLRACE_REGISTRY"
EPILOG = """\
exit codes: 0 it was ended, 1 it could not be started, 2 wrong usage

Jobs run in processes of their own and go on when the server ends; the next one finds them."""


def register(commands: Commands) -> None:
    """Add ``millrace server`` to the parser."""
    parser = commands.add_parser(
        "server",
        help="run the job server: REST API and web UI",
        description="Run the job server: it takes jobs, supervises them, and answers over HTTP.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=handle)
    add_config_file(parser)
    parser.add_argument("--host", help="address at which the server listens (default: 127.0.0.1)")
    parser.add_argument("--port", type=port, metavar="N", help="0: any (default: 8081)")
    parser.add_argument(
        "--directory",
        type=location,
        metavar="D",
        help="directory for jobs, tokens and the log (default: under your state directory)",
    )
    parser.add_argument(
        "--registry",
        metavar="URL",
        help=(
            "postgresql+psycopg://HOST/DATABASE or sqlite:///PATH (default: from "
            "MILLRACE_REGISTRY, which lists of processes do not show; else SQLite in the "
            "directory)"
        ),
    )
    parser.add_argument(
        "--high-availability",
        choices=HA_TYPE.choices,
        help="way in which servers of one registry elect a leader (default: none)",
    )
    parser.add_argument(
        "--advertise",
        metavar="URL",
        help="URL at which users of the other servers reach this one (default: host and port)",
    )
    add_settings(parser, "an option of the server, such as jobstore.max-capacity")
    _add_security(parser)
    parser.add_argument(
        "--allow-uploads",
        action="store_true",
        default=None,
        help="accept job files over HTTP, and run them",
    )
    parser.add_argument(
        "--programs",
        type=Path,
        metavar="D",
        help="clients may run job files below D by their paths",
    )
    parser.add_argument(
        "--savepoints",
        type=location,
        metavar="D",
        help="directory of savepoints (default: under your state directory)",
    )


def _add_security(parser: argparse.ArgumentParser) -> None:
    """Add the options of tokens and TLS."""
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="F",
        help="file with the operate token (default: generated)",
    )
    parser.add_argument(
        "--read-token-file",
        type=Path,
        metavar="F",
        help="file with the read token (default: generated)",
    )
    parser.add_argument("--no-auth", action="store_true", help="no tokens; only on loopback")
    parser.add_argument("--tls-cert", type=Path, metavar="F", help="certificate, as PEM")
    parser.add_argument("--tls-key", type=Path, metavar="F", help="its key, as PEM")


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run the server until it ends."""
    try:
        from millrace.server.serving import serve
    except ModuleNotFoundError as error:
        raise MillraceError(
            missing_package("millrace server needs", error.name, "server")
        ) from None
    # taken out: processes of jobs inherit the environment, and it has a password in it
    registry = os.environ.pop(REGISTRY_VARIABLE, None)
    serve(options_of(args, registry), _greet)
    return 0


def options_of(args: argparse.Namespace, registry: str | None = None) -> ServerOptions:
    """The server's options, from the command line and ``config.yaml``.

    Args:
        registry: URL of the registry from the environment.

    Raises:
        UsageError: options do not go together, or one in the file is unknown or wrong.
    """
    from millrace.cli.state_directory import state_directory
    from millrace.rest.http_server import TlsFiles
    from millrace.server.serving import DEFAULT_HOST, DEFAULT_PORT, ServerOptions

    if args.no_auth and (args.token_file or args.read_token_file):
        raise UsageError("--no-auth cannot be combined with --token-file or --read-token-file")
    try:
        file = settings_for(args.config)
    except ConfigurationError as error:
        raise UsageError(str(error)) from None
    chosen = server_options.server_settings_in(file)
    if registry:
        own = Configuration({server_options.SERVER_REGISTRY.key: registry})
        chosen.add_all(own.marked(SettingOrigin.ENVIRONMENT))
    chosen.add_all(_of_command_line(args))
    certificate = _path(chosen, server_options.SERVER_TLS_CERTIFICATE)
    key = _path(chosen, server_options.SERVER_TLS_KEY)
    if key is not None and certificate is None:
        raise UsageError("--tls-key needs --tls-cert")
    programs = _path(chosen, server_options.SERVER_PROGRAMS)
    if programs is not None and not programs.is_dir():
        raise UsageError(f"--programs: there is no directory {programs}")
    directory = _path(chosen, server_options.SERVER_DIRECTORY) or state_directory() / "server"
    port_given = chosen.contains_key(REST_PORT.key)
    return ServerOptions(
        configuration=chosen,
        job_defaults=server_options.job_settings_in(file),
        config_file=file.path,
        advertised=chosen.get(server_options.SERVER_ADVERTISED),
        directory=directory.absolute(),
        savepoints=_savepoints(args, server_options.job_settings_in(file)).absolute(),
        host=chosen.get_string(REST_BIND_ADDRESS.key) or DEFAULT_HOST,
        port=chosen.get(REST_PORT) if port_given else DEFAULT_PORT,
        registry=chosen.get(server_options.SERVER_REGISTRY),
        token_file=_path(chosen, server_options.SERVER_TOKEN_FILE),
        read_token_file=_path(chosen, server_options.SERVER_READ_TOKEN_FILE),
        authenticate=not args.no_auth,
        tls=TlsFiles(certificate, key) if certificate is not None else None,
        allow_uploads=chosen.get(server_options.WEB_SUBMIT),
        programs=programs.resolve() if programs is not None else None,
    )


def _of_command_line(args: argparse.Namespace) -> Configuration:
    """The server's options on its command line.

    Raises:
        UsageError: an option is unknown, or is one of jobs.
    """
    values: dict[str, object] = dict(args.conf)
    for key in values:
        if key.startswith(server_options.WEBHOOK_PREFIX):
            continue
        require_known(key)
        if not server_options.is_of_server(key):
            raise UsageError(
                f"--conf: {key} is an option of jobs, not of the server; pass it to "
                "'millrace run', or write it into config.yaml for all jobs"
            )
    given: dict[ConfigOption[Any], object] = {
        REST_BIND_ADDRESS: args.host,
        REST_PORT: args.port,
        HA_TYPE: args.high_availability,
        server_options.SERVER_ADVERTISED: args.advertise,
        server_options.SERVER_DIRECTORY: args.directory,
        server_options.SERVER_REGISTRY: args.registry,
        server_options.SERVER_TOKEN_FILE: args.token_file,
        server_options.SERVER_READ_TOKEN_FILE: args.read_token_file,
        server_options.SERVER_TLS_CERTIFICATE: args.tls_cert,
        server_options.SERVER_TLS_KEY: args.tls_key,
        server_options.SERVER_PROGRAMS: args.programs,
        server_options.WEB_SUBMIT: args.allow_uploads,
    }
    values |= {option.key: value for option, value in given.items() if value is not None}
    configuration = Configuration(values).marked(SettingOrigin.COMMAND_LINE)
    try:
        configuration.validate()
    except ConfigurationError as error:
        raise UsageError(str(error)) from None
    return configuration


def _path(configuration: Configuration, option: ConfigOption[str | None]) -> Path | None:
    named = configuration.get(option)
    return Path(named).expanduser() if named is not None else None


def _savepoints(args: argparse.Namespace, defaults: Configuration) -> Path:
    """Directory in which the server looks for savepoints."""
    from millrace.cli.state_directory import default_savepoint_dir
    from millrace.filesystem.location import is_local, qualified

    named = defaults.get(SAVEPOINT_DIR)
    if args.savepoints is not None:
        return Path(args.savepoints)
    if named is not None and is_local(named):
        return Path(qualified(named))
    return default_savepoint_dir()


def _greet(address: ServerAddress) -> None:
    """Print the server's address; the token only on a terminal."""
    print(f"millrace: the server is at {address.url}", file=sys.stderr)
    if address.token is not None and sys.stderr.isatty():
        print(f"millrace: log in with {address.url}/#token={address.token}", file=sys.stderr)
    sys.stderr.flush()
