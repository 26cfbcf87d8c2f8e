"""Starts the servers that tests use, on loopback, until interrupted: ``make services``.

Arguments: names of servers (as in `SERVICES`), or none for all of them. ``--install``: no start.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
from pathlib import Path

from service import Service, ServiceUnavailableError, all_services

SERVICES: dict[str, type[Service]] = {kind.command: kind for kind in all_services()}


def main(arguments: list[str]) -> int:
    names = [name for name in arguments if name in SERVICES] or list(SERVICES)
    unknown = set(arguments) - set(SERVICES) - {"--install"}
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SERVICES)}")
        return 2
    if "--install" in arguments:
        return max(_install(name) for name in names)
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as directory:
        failed = [_start(name, Path(directory), stack) for name in names].count(False)
        if failed == len(names):
            return 1
        print("# running until you press Ctrl-C", flush=True)
        signal.sigwait([signal.SIGINT, signal.SIGTERM])
        stack.close()
    return 0


def _install(name: str) -> int:
    try:
        SERVICES[name].install()
    except ServiceUnavailableError as error:
        print(f"{SERVICES[name].name}: {error}", file=sys.stderr)
        return 1
    return 0


def _start(name: str, directory: Path, stack: contextlib.ExitStack) -> bool:
    try:
        service = stack.enter_context(SERVICES[name](directory / name))
    except ServiceUnavailableError as error:
        print(f"# {SERVICES[name].name}: {error}", flush=True)
        return False
    print(f"# {service.name}", flush=True)
    for variable, value in service.environment.items():
        print(f"export {variable}={value}", flush=True)
    return True


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    sys.exit(main(sys.argv[1:]))
