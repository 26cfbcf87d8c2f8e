"""``millrace statefun``: checks and runs the modules of Stateful Functions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from millrace.cli.arguments import UsageError, add_detached, add_run_options, location
from millrace.cli.commands.grammar import (
    EPILOG,
    Commands,
    add_command,
    add_job,
    add_server,
    server_client,
)
from millrace.cli.commands.job_request import report, send_command


def register(commands: Commands) -> None:
    """Add the command with its subcommands."""
    parser = commands.add_parser(
        "statefun",
        help="check or run a module of Stateful Functions",
        description="Check or run a module.yaml of Stateful Functions.",
        epilog=EPILOG,
    )
    subcommands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    validate = add_command(
        subcommands,
        "validate",
        handle_validate,
        "check a module.yaml and list its components",
        "Check a module.yaml and list its components. An error names file, document and line.",
    )
    validate.add_argument("module", metavar="MODULE", type=location, help="path of the module.yaml")
    add_server(validate)
    run = subcommands.add_parser(
        "run",
        help="run a module.yaml as a job",
        description="Run the components of a module.yaml as a job, on resident tasks unless a "
        "setting names another executor.",
        epilog=EPILOG,
    )
    add_run_options(run)
    add_detached(run)
    add_server(run)
    run.add_argument(
        "--module",
        metavar="F",
        dest="functions",
        type=location,
        help="a Python file with StatefulFunctions of Flink's SDK, which run in the workers "
        "instead of behind an endpoint",
    )
    run.add_argument("module", metavar="MODULE", type=location, help="path of the module.yaml")
    run.set_defaults(handler=handle_run)
    update = add_command(
        subcommands,
        "update",
        handle_update,
        "give a running job the endpoints of a module.yaml",
        "Give the functions of a running job the endpoints of a module.yaml, without a "
        "restart. Endpoints that the module does not name are removed; other components of "
        "the module do not change the job.",
    )
    add_job(update)
    update.add_argument("module", metavar="MODULE", type=location, help="path of the module.yaml")
    _register_state(subcommands)
    update.add_argument(
        "--functions",
        metavar="NAME",
        help=(
            "name given to the builder of the functions, if the job is a program (default: the "
            "functions of a module)"
        ),
    )


def _register_state(subcommands: Commands) -> None:
    state = add_command(
        subcommands,
        "state",
        handle_state,
        "show the states of an address in a running job",
        "Show the states of an address in a running job, as of its newest checkpoint. The job runs "
        "on this machine with rest.enabled=true, or on a server.",
    )
    add_job(state)
    state.add_argument("type", metavar="TYPE", help="type of the function: namespace/name")
    state.add_argument("address", metavar="ID", help="id of the address")
    state.add_argument(
        "--functions",
        metavar="NAME",
        help=(
            "name given to the builder of the functions, if the job is a program (default: the "
            "functions of a module)"
        ),
    )


def handle_state(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Print the states of an address, each with its type and its value.

    Raises:
        UsageError: the arguments name no job.
        JobDefinitionError: the type of the function has no namespace.
        JobControlError: the server does not answer, or the job has no queryable state.
        StateError: the job does not run, or has no endpoint.
    """
    from millrace.cli.operated_job import DirectoryJob, operated_job
    from millrace.cli.printing import aligned, print_json, print_lines

    job = operated_job(args)
    if isinstance(job, DirectoryJob):
        rows = _states_here(args, job.job.directory)
    else:
        rows = _states_on_server(args, job.id)
    if args.json:
        print_json(rows)
    else:
        print_lines(aligned([list(row.values()) for row in rows]))
    return 0


def _states_here(args: argparse.Namespace, directory: Path) -> list[dict[str, str]]:
    from millrace.statefun.endpoint_update import MODULE_NAME
    from millrace.statefun.function_state_client import FunctionStateClient, value_text

    client = FunctionStateClient.of_job(directory, functions=args.functions or MODULE_NAME)
    states = client.get(args.type, args.address)
    return [
        {"state": name, "typename": value.typename, "value": value_text(value)}
        for name, value in sorted(states.items())
    ]


def _states_on_server(args: argparse.Namespace, job: str) -> list[dict[str, str]]:
    from urllib.parse import quote

    from millrace.statefun.address import FunctionType

    address = "/".join(quote(p, safe="") for p in (*FunctionType.of(args.type), args.address))
    asked = {"functions": args.functions} if args.functions else {}
    answer = server_client(args).get(f"/jobs/{job}/functions/{address}", **asked)
    return [
        {key: state[key] for key in ("state", "typename", "value")} for state in answer["states"]
    ]


def handle_run(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run a module to its end, here or by a server.

    Raises:
        UsageError: a file is missing, or a setting is unknown or wrong.
        ModuleError: the module has a fault.
    """
    from millrace.cli.module_run import check_functions

    functions: Path | None = args.functions
    if functions is not None:
        check_functions(functions, "--module")
    if args.server is not None:
        return _run_on_server(args, functions)
    if args.detached:
        raise UsageError("--detached needs --server")
    from millrace.cli.module_run import module_arguments
    from millrace.cli.run import run

    return run(module_arguments(args, argv, args.module, functions, ("statefun", "run")))


def _run_on_server(args: argparse.Namespace, functions: Path | None) -> int:
    from millrace.cli.module_run import checked_module
    from millrace.cli.server_run import run_on_server
    from millrace.statefun.module import module_name

    checked_module(args.module)
    args.job, args.arguments = args.module, [] if functions is None else [functions.name]
    args.name = args.name or module_name(args.module.resolve())
    return run_on_server(args, functions)


def handle_update(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """Give a running job other endpoints, and print the checkpoint that has them.

    Raises:
        UsageError: a library of the extra ``statefun`` is missing, or the arguments name no job.
        ModuleError: the module has a fault.
        JobControlError: the job does not run, or has no such functions.
    """
    from millrace.cli.module_run import checked_module

    endpoints = checked_module(args.module).endpoints
    from millrace.statefun.dispatch.endpoint_list import encode_endpoints
    from millrace.statefun.endpoint_update import MODULE_NAME, operator_uid

    message = encode_endpoints(endpoints).decode()
    operator = operator_uid(args.functions or MODULE_NAME)
    job, answer = send_command(args, "message", operator=operator, message=message)
    count = f"{len(endpoints)} endpoint" + ("" if len(endpoints) == 1 else "s")
    text = f"job '{job.name}' has {count}, as of checkpoint {answer['checkpoint']}"
    return report(args, job, answer, text)


def handle_validate(args: argparse.Namespace, argv: Sequence[str]) -> int:
    """List the components of a module without faults.

    Raises:
        UsageError: a library of the extra ``statefun`` is missing.
        ModuleError: the module has a fault.
        JobControlError: the server finds a fault, or does not answer.
    """
    from millrace.cli.printing import aligned, print_json, print_lines

    if args.server is not None:
        asked = {"name": args.module.name, "content": _content(args.module)}
        rows = server_client(args).post("/statefun/validate", asked)["components"]
    else:
        from millrace.cli.module_run import checked_module

        module = checked_module(args.module)
        from millrace.statefun.module import summary_of

        rows = [summary_of(component)._asdict() for component in module.components]
        for fault in module.unserved_targets():
            print(f"{fault}: it must be in the file of --module", file=sys.stderr)
    if args.json:
        print_json(rows)
    else:
        print_lines(aligned([list(row.values()) for row in rows]))
    return 0


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
