"""A Python file with functions of the SDK, which is imported by its path: its name may be that of
any other module."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.statefun.address import FunctionType
from millrace.statefun.application.module_job import embedded_functions

__all__ = ["functions_of_file"]


@dataclass(frozen=True, slots=True)
class _FunctionsFile:
    """Name and content of a file. In a worker, it is beside other modules that were shipped.

    Attributes:
        path: path in the process that began.
    """

    path: str
    digest: str

    def imported(self) -> ModuleType:
        """The module, imported once per process.

        Raises:
            JobExecutionError: the file is not there, or it has changed since the job began.
        """
        name = f"millrace_functions_{self.digest[:16]}"
        module = sys.modules.get(name)
        if module is None:
            spec = spec_from_file_location(name, self._present())
            assert spec is not None
            assert spec.loader is not None
            module = sys.modules[name] = module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        return module

    def _present(self) -> Path:
        for path in self._places():
            if path.is_file() and sha256(path.read_bytes()).hexdigest() == self.digest:
                return path
        raise JobExecutionError(
            f"the functions of {self.path} cannot be loaded: the file has changed since the job "
            "began, or a worker does not have it; start the job again"
        )

    def _places(self) -> Iterator[Path]:
        yield Path(self.path)
        for entry in sys.path:
            yield Path(entry, Path(self.path).name)


class _FunctionsOfFile:
    """A ``StatefulFunctions`` of a file. A worker takes that of the file which it imports itself,
    so what is beside the functions in the file need not be pickled."""

    def __init__(self, file: _FunctionsFile, name: str) -> None:
        self._file = file
        self._name = name
        self._held: Any = getattr(file.imported(), name)

    def __reduce__(self) -> Any:
        return _FunctionsOfFile, (self._file, self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held, name)


def functions_of_file(path: Path) -> dict[FunctionType, Any]:
    """Functions that a file binds, with the ``StatefulFunctions`` that have them.

    Raises:
        JobDefinitionError: there are none, or one is bound twice.
    """
    file = _FunctionsFile(str(path.resolve()), sha256(path.read_bytes()).hexdigest())
    names = vars(file.imported())
    bound = embedded_functions({**names, "__name__": path.stem})
    holders = {id(value): name for name, value in names.items()}
    return {function: _FunctionsOfFile(file, holders[id(held)]) for function, held in bound.items()}
