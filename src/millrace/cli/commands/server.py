"""``millrace server``: the job server."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from millrace.cli.arguments import UsageError, add_settings, location, port, require_known
from millrace.cli.commands.grammar import Commands
from millrace.common.config.high_availability_options import HA_TYPE
from millrace.common.errors import MillraceError

if TYPE_CHECKING:
    from millrace.server.server_address import ServerAddress
    from millrace.server.serving import ServerOptions

OWN_OPTIONS = ("high-availability.", "jobstore.")
REGISTRY_VARIABLE = "MILLRACE_REGISTRY"
EPILOG = """\
exit codes: 0 it was ended, 1 it could not be started, 2 wrong usage

Jobs run in processes of their own and go on when the server ends; the next one finds them."""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "server",
        help="run the job server: REST API and web UI",
        description="Run the job server: it takes jobs, supervises them, and answers over HTTP.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=handle)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=port, default=8081, metavar="N", help="0: any (default: 8081)"
    )
    parser.add_argument(
        "--directory",
        type=location,
        metavar="D",
        help="where the server keeps jobs, tokens and log (default: under your state directory)",
    )
    parser.add_argument(
        "--registry",
        metavar="URL",
        help="postgresql+psycopg://HOST/DATABASE or sqlite:///PATH (default: from "
        "MILLRACE_REGISTRY, which no list of processes shows; else SQLite in the directory)",
    )
    parser.add_argument(
        "--high-availability",
        choices=HA_TYPE.choices,
        help="how servers of one registry agree on which of them leads (default: none)",
    )
    parser.add_argument(
        "--advertise",
        metavar="URL",
        help="where the other servers' users reach this one (default: host and port)",
    )
    add_settings(parser, "an option high-availability.* or jobstore.*")
    parser.add_argument(
        "--token-file", type=Path, metavar="F", help="with the token to operate (default: made)"
    )
    parser.add_argument(
        "--read-token-file", type=Path, metavar="F", help="with the token to read (default: made)"
    )
    parser.add_argument("--no-auth", action="store_true", help="no tokens; only on loopback")
    parser.add_argument("--tls-cert", type=Path, metavar="F", help="certificate, as PEM")
    parser.add_argument("--tls-key", type=Path, metavar="F", help="its key, as PEM")
    parser.add_argument(
        "--allow-uploads", action="store_true", help="take job files over HTTP, and run them"
    )
    parser.add_argument(
        "--programs", type=Path, metavar="D", help="job files below D may be run by their paths"
    )
    parser.add_argument(
        "--savepoints",
        type=location,
        metavar="D",
        help="where to look for savepoints (default: under your state directory)",
    )


def handle(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run the server until it ends."""
    try:
        from millrace.server.serving import serve
    except ModuleNotFoundError as error:
        raise MillraceError(
            f"millrace server needs the package {error.name}: pip install 'millrace[server]'"
        ) from None
    # taken out: processes of jobs inherit the environment, and it has a password in it
    registry = os.environ.pop(REGISTRY_VARIABLE, None)
    args.registry = args.registry or registry
    serve(options_of(args), _greet)
    return 0


def options_of(args: argparse.Namespace) -> ServerOptions:
    """The server's options, from the command line.

    Raises:
        UsageError: options do not go together.
    """
    from millrace.cli.state_directory import default_savepoint_dir, state_directory
    from millrace.rest.http_server import TlsFiles
    from millrace.server.serving import ServerOptions

    if args.tls_key is not None and args.tls_cert is None:
        raise UsageError("--tls-key needs --tls-cert")
    if args.no_auth and (args.token_file or args.read_token_file):
        raise UsageError("--no-auth goes neither with --token-file nor with --read-token-file")
    if args.programs is not None and not args.programs.is_dir():
        raise UsageError(f"--programs: there is no directory {args.programs}")
    configuration = dict(args.conf)
    for key in configuration:
        require_known(key)
        if not key.startswith(OWN_OPTIONS):
            raise UsageError(
                f"--conf: {key} is an option of jobs, not of the server; give it to 'millrace run'"
            )
    if args.high_availability is not None:
        configuration[HA_TYPE.key] = args.high_availability
    return ServerOptions(
        configuration=configuration,
        advertised=args.advertise,
        directory=(args.directory or state_directory() / "server").absolute(),
        savepoints=(args.savepoints or default_savepoint_dir()).absolute(),
        host=args.host,
        port=args.port,
        registry=args.registry,
        token_file=args.token_file,
        read_token_file=args.read_token_file,
        authenticate=not args.no_auth,
        tls=TlsFiles(args.tls_cert, args.tls_key) if args.tls_cert is not None else None,
        allow_uploads=args.allow_uploads,
        programs=args.programs.resolve() if args.programs is not None else None,
    )


def _greet(address: ServerAddress) -> None:
    """Print the server's address; the token only on a terminal."""
    print(f"millrace: the server is at {address.url}", file=sys.stderr)
    if address.token is not None and sys.stderr.isatty():
        print(f"millrace: log in with {address.url}/#token={address.token}", file=sys.stderr)
    sys.stderr.flush()
