"""Functions of a Python file whose name may be that of another module."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.statefun.address import FunctionType
from millrace.statefun.application.functions_file import functions_of_file
from millrace.statefun.invocation.embedded import EmbeddedFunctions

pytest.importorskip("statefun")
FUNCTIONS = """
import threading
from beside import GREETING
from statefun import StatefulFunctions

functions = StatefulFunctions()
lock = threading.Lock()  # which cannot be pickled

@functions.bind("test/greeter")
def greeter(context, message):
    with lock:
        return GREETING
"""
LOAD = """
import pickle, sys
functions = pickle.loads(bytes.fromhex(sys.argv[1]))._functions
print(functions.for_typename("test/greeter").fun(None, None))
"""


@pytest.mark.parametrize("name", ["playground.py", "functions.py"])
def test_a_worker_imports_the_file_and_no_module_of_its_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside.py").write_text("GREETING = 'hello'\n")
    (tmp_path / name).write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(str(tmp_path))
    bound = functions_of_file(tmp_path / name)
    assert list(bound) == [FunctionType("test", "greeter")]
    invoker = EmbeddedFunctions(bound[FunctionType("test", "greeter")])
    pickled = pickle.dumps(invoker).hex()
    shipped = tmp_path / "shipped"  # a worker on another machine
    shipped.mkdir()
    for file in (name, "beside.py"):
        (tmp_path / file).rename(shipped / file)
    environment = {"PYTHONPATH": f"{shipped}:{':'.join(sys.path)}"}
    command = [sys.executable, "-P", "-c", LOAD, pickled]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (told.stdout, told.returncode) == ("hello\n", 0), told.stderr


def bindings(*lines: str) -> str:
    return "\n".join(
        [
            *("import statefun", *lines, "functions = statefun.StatefulFunctions()"),
            "functions.bind('test/f')(lambda context, message: TOLD)",
        ]
    )


def test_a_worker_that_starts_late_has_the_file_as_it_was_when_the_job_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "late_functions.py"
    path.write_text(bindings("TOLD = 'before'"))
    (held,) = functions_of_file(path).values()
    pickled = pickle.dumps(held)
    path.write_text(bindings("TOLD = 'after'"))
    for name in [name for name in sys.modules if name.startswith("millrace_functions_")]:
        monkeypatch.delitem(sys.modules, name)
    loaded = pickle.loads(pickled)
    assert loaded.for_typename("test/f").fun(None, None) == "before"


def test_a_module_beside_the_file_imports_the_same_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "order_maker.py").write_text(
        "def make():\n    from order_functions import Order\n    return Order()\n"
    )
    path = tmp_path / "order_functions.py"
    for version in (1, 2):  # the second is another job of this process
        path.write_text(
            bindings(
                f"VERSION = {version}",
                "import order_maker",
                "class Order: pass",
                "def TOLD(): return isinstance(order_maker.make(), Order)",
            )
        )
        (held,) = functions_of_file(path).values()
        assert held.for_typename("test/f").fun(None, None)()


@pytest.mark.parametrize("name", ["pickle.py", "wsgiref.py"])  # one is imported, one is not
def test_a_file_does_not_take_the_name_of_another_module(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "wsgiref", raising=False)
    path = tmp_path / name
    path.write_text(bindings(f"TOLD = {name!r}"))
    functions_of_file(path)
    assert not hasattr(importlib.import_module(path.stem), "TOLD")


def test_a_file_without_functions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.py"
    path.write_text("")
    with pytest.raises(JobDefinitionError, match="'empty' has no functions"):
        functions_of_file(path)
