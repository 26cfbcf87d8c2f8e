"""Functions of a Python file whose name may be that of another module."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError
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


def test_a_file_that_has_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "functions.py"
    path.write_text("import statefun\nfunctions = statefun.StatefulFunctions()\n"
                    "functions.bind('test/f')(lambda context, message: None)\n")  # fmt: skip
    (held,) = functions_of_file(path).values()
    pickled = pickle.dumps(held)
    path.write_text(path.read_text() + "# changed\n")
    for name in [name for name in sys.modules if name.startswith("millrace_functions_")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(JobExecutionError, match=r"functions.py cannot be loaded: the file has ch"):
        pickle.loads(pickled)


def test_a_file_without_functions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.py"
    path.write_text("")
    with pytest.raises(JobDefinitionError, match="'empty' has no functions"):
        functions_of_file(path)
