"""The job file of modules, run as ``millrace statefun run`` runs it."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.statefun.application.test_playground import MODULE, asked, free_ports, patiently

from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.statefun.application.program import module_program

pytest.importorskip("statefun")
PROGRAM = str(module_program.__file__)


@pytest.mark.parametrize("running", ["resident"], indirect=True)
def test_a_module_runs_with_the_functions_of_a_file(
    running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has the name of a module of this package. The job ends because a function fails."""
    functions, module = tmp_path / "playground.py", tmp_path / "module.yaml"
    shutil.copy(Path(__file__).parents[2] / "greeter_functions.py", functions)
    ingress, egress = free_ports(2)
    module.write_text(MODULE.format(url="http://127.0.0.1:1", ingress=ingress, egress=egress))
    monkeypatch.setattr(sys, "argv", [PROGRAM, str(module), str(functions)])
    failures: list[MillraceError] = []

    def run() -> None:
        try:
            runpy.run_path(PROGRAM, run_name="__main__")
        except MillraceError as failure:
            failures.append(failure)

    with running():
        thread = Thread(target=run)
        thread.start()
        patiently(lambda: asked(ingress, "PUT", "/test/playing/Ada", "one"))
        greeting = patiently(lambda: asked(egress, "GET", "/greetings"))
        assert greeting == "Ada io.statefun.types/string 1"
        patiently(lambda: asked(ingress, "PUT", "/test/faulty/1", "raise"))
        thread.join(60)
    (failure,) = failures
    assert "function test/faulty/1 raised ValueError: on purpose" in str(failure)


def test_a_module_without_an_ingress_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "module.yaml"
    module.write_text(MODULE.partition("---")[0].format(url="http://127.0.0.1:1"))
    monkeypatch.setattr(sys, "argv", [PROGRAM, str(module)])
    with pytest.raises(JobDefinitionError, match="the module has no ingress"):
        runpy.run_path(PROGRAM, run_name="__main__")
