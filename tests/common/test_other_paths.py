"""Names that are found at the module that had them before, or only uses them."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from millrace.other_paths import LATE_NAMES

NAMES = [(module, name, home) for module, of in LATE_NAMES.items() for name, home in of.items()]


@pytest.mark.parametrize(("module", "name", "home"), NAMES)
def test_a_late_name_is_that_of_its_home(module: str, name: str, home: str) -> None:
    assert getattr(import_module(module), name) is getattr(import_module(home), name)


@pytest.mark.parametrize("module", sorted(LATE_NAMES))
def test_other_names_are_missing_as_ever(module: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Nothing'"):
        import_module(module).Nothing  # noqa: B018


@pytest.mark.parametrize(
    "package", ["millrace.table", "millrace.table.catalog", "millrace.table.functions"]
)
def test_type_checkers_see_the_late_names_of_a_package(package: str) -> None:
    """Under ``if TYPE_CHECKING:``, from the same modules; and `dir` has them, for notebooks."""
    module = import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_bytes())
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    block, hooks = blocks  # and nothing may look like a name of any kind to them
    assert isinstance(hooks.test, ast.UnaryOp)
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == LATE_NAMES[package]
    assert set(module.__all__) == set(seen) <= set(dir(module))


def test_modules_are_attributes_of_a_package_that_imports_none() -> None:
    code = "import millrace.table; print(millrace.table.udf.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "millrace.table.udf\n"
