"""Import of a Python file with functions of the SDK by its path, because its name may equal that of
another module.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.abc import ExecutionLoader
from importlib.util import decode_source, find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from millrace.statefun.address import FunctionType
from millrace.statefun.application.module_job import embedded_functions

__all__ = ["functions_of_file"]

_NAMES = "millrace_functions_"


@dataclass(frozen=True, slots=True)
class _FunctionsFile:
    """Path of a file, and its content at the start of the job. Workers that start later use this
    content, even if the file has changed since.

    Attributes:
        path: path in the process that began.
    """

    path: str
    source: bytes = field(repr=False)

    def imported(self) -> ModuleType:
        """The module, imported once per process."""
        name = _NAMES + sha256(self.source).hexdigest()[:16]
        module = sys.modules.get(name)
        if module is None:
            spec = spec_from_loader(name, _Loader(self))
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            names = [name, *self._own_name()]
            sys.modules.update(dict.fromkeys(names, module))
            try:
                spec.loader.exec_module(module)
            except BaseException:
                for taken in names:
                    sys.modules.pop(taken, None)
                raise
        return module

    def _own_name(self) -> list[str]:
        """The name by which modules beside the file import it, so that they get the same classes.
        Empty if this is the name of another module."""
        name = Path(self.path).stem
        if not name.isidentifier():
            return []
        module = sys.modules.get(name)
        if module is not None:  # an earlier job of this process may have had such a file
            return [name] if module.__name__.startswith(_NAMES) else []
        spec = find_spec(name)
        is_file = spec is None or Path(spec.origin or "").name == Path(self.path).name
        return [name] if is_file else []


class _Loader(ExecutionLoader):
    """Loads the content that a file had when the job began."""

    def __init__(self, file: _FunctionsFile) -> None:
        self._file = file

    def get_filename(self, fullname: str) -> str:
        return self._file.path

    def get_source(self, fullname: str) -> str:
        return decode_source(self._file.source)


class _FunctionsOfFile:
    """A ``StatefulFunctions`` object in a file. Each worker imports the file itself, so that other
    objects in the file need not be pickled.
    """

    def __init__(self, file: _FunctionsFile, name: str) -> None:
        self._file = file
        self._name = name
        self._held: Any = getattr(file.imported(), name)

    def __reduce__(self) -> Any:
        return _FunctionsOfFile, (self._file, self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held, name)


def functions_of_file(path: Path) -> dict[FunctionType, Any]:
    """Functions that a file binds, with the ``StatefulFunctions`` objects that hold them.

    Raises:
        JobDefinitionError: there are none, or one is bound twice.
    """
    file = _FunctionsFile(str(path.resolve()), path.read_bytes())
    names = vars(file.imported())
    bound = embedded_functions({**names, "__name__": path.stem})
    holders = {id(value): name for name, value in names.items()}
    return {function: _FunctionsOfFile(file, holders[id(held)]) for function, held in bound.items()}
