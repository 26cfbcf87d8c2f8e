"""Classes of the program's main module, which workers must find under the same names."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from millrace.common.errors import SerializationError
from millrace.state.serialization.pickles import dump_code

__all__ = ["install_main_classes", "main_classes"]


def main_classes() -> dict[str, type]:
    """Classes that the job file itself defines. Records of these classes are pickled by class
    name."""
    main = sys.modules.get("__main__")
    return {
        name: value
        for name, value in vars(main).items()
        if isinstance(value, type) and value.__module__ == "__main__" and _can_travel(value)
    }


def install_main_classes(classes: Mapping[str, type]) -> None:
    """Add the classes to this process's main module."""
    main = sys.modules["__main__"]
    for name, kind in classes.items():
        setattr(main, name, kind)


def _can_travel(kind: type) -> bool:
    """Whether the class can be pickled. Other classes are left out; an operator that needs one
    reports the error."""
    try:
        dump_code(kind, lambda: kind.__name__)
    except SerializationError:
        return False
    return True
