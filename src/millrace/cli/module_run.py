"""Modules of Stateful Functions as job files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from millrace.cli.arguments import RunArguments, UsageError, existing, run_defaults, run_settings
from millrace.cli.imports import is_local
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.installation import install_command
from millrace.spark.connect.remote import remote_in

if TYPE_CHECKING:
    from millrace.statefun.module import Module

__all__ = ["check_functions", "checked_module", "module_arguments"]

_DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled"


def checked_module(path: Path) -> Module:
    """The components of a module, after a check of the module.

    Raises:
        UsageError: a library of the extra ``statefun`` is missing.
        ModuleError: the module has a fault.
    """
    try:
        import google.protobuf  # noqa: F401
        import yaml  # noqa: F401
    except ImportError:
        raise UsageError(
            f"Stateful Functions need further libraries: {install_command('statefun')}"
        ) from None
    from millrace.statefun.module import read_module

    return read_module(path)


def check_functions(path: Path, argument: str) -> None:
    """Check that workers can import a file of functions.

    Args:
        argument: what people call the argument that names it.

    Raises:
        UsageError: it is no Python file, or it would replace a module of Python in the workers.
    """
    if path.suffix != ".py" or not path.is_file():
        raise UsageError(f"{argument} is a Python file with functions, but {path} is not one")
    if path.stem in sys.stdlib_module_names:
        raise UsageError(
            f"{argument}: {path} has the name of Python's module '{path.stem}', which it "
            "would replace in the workers: rename the file"
        )


def module_arguments(
    args: argparse.Namespace,
    argv: Sequence[str],
    module: Path,
    functions: Path | None,
    command: tuple[str, ...],
) -> RunArguments:
    """Arguments of a run of a module. The module runs on resident tasks, unless these cannot run it
    or a setting names another executor.

    Args:
        functions: Python file whose functions run in the workers; None if there are none.
        command: first words of ``argv``.

    Raises:
        UsageError: a file is missing, a setting is unknown or wrong, or nobody would reach the
            ports of the module.
        ModuleError: the module has a fault.
    """
    components = checked_module(module)  # its faults are told before Spark starts
    from millrace.statefun.application.program import module_program

    own = () if functions is None else (functions,)
    settings = run_settings(args)
    defaults = run_defaults(args, settings)
    named = Configuration(defaults).add_all(settings)
    if _is_for_resident_tasks(named):
        resident = Configuration({options.EXECUTOR.key: "resident"})
        settings.add_all(resident.marked(SettingOrigin.DEFAULT))
    remote = remote_in(named.to_dict())
    place = named.get_string("spark.master") if remote is None else repr(remote)
    _check_playground(components, place)
    return RunArguments(
        job=Path(module_program.__file__),
        job_arguments=tuple(str(path.resolve()) for path in (module, *own)),
        settings=settings,
        defaults=defaults,
        resume=args.resume or args.available_now,
        py_files=(*own, *existing(args.py_files)),
        functions=functions,
        progress=args.progress,
        argv=tuple(argv),
        command=command,
    )


def _is_for_resident_tasks(named: Configuration) -> bool:
    """Whether a module runs on resident tasks, whatever slots there are. It has an application of
    its own, so its tasks may take the slot that `auto` leaves free, and on epochs a message would
    wait for the next one."""
    if named.contains_key(options.EXECUTOR.key) or named.get(options.AVAILABLE_NOW):
        return False
    return str(named.get_string(_DYNAMIC_ALLOCATION)).lower() != "true"


def _check_playground(module: Module, master: str | None) -> None:
    """Check that people reach the ports of the playground.

    Raises:
        UsageError: they would be ports of some worker of a cluster.
    """
    from millrace.statefun.module import PlaygroundEgress, PlaygroundIngress

    kinds = {PlaygroundIngress: "playground ingress", PlaygroundEgress: "playground egress"}
    ports = [kinds[type(c)] for c in module.components if type(c) in kinds]
    if ports and not is_local(master):
        raise UsageError(
            f"the module has a {ports[0]}, which listens on the loopback interface of a worker: on "
            f"{master}, nobody would reach it; run it with --master local[*], or use Kafka instead"
        )
