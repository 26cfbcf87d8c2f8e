"""Hints for errors that arise from the transfer of programs to the workers."""

from __future__ import annotations

import importlib.util
import re

__all__ = ["failure_hint"]

_MISSING = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_NO_SUBMODULE = re.compile(r"AttributeError: module '([\w.]+)' has no attribute '(\w+)'")


def failure_hint(text: str) -> str:
    """Hint for an error's text, as a paragraph; empty if there is none.

    Example:
        >>> failure_hint("AttributeError: module 'concurrent' has no attribute 'futures'")[:50]
        "\\nthe function uses the module 'concurrent.futures'"
    """
    missing = _MISSING.search(text)
    if missing is not None:
        return (
            f"\nthe workers do not have the module {missing[1]!r}: ship your own with --py-files "
            "(or env.add_python_file), packages with env.set_python_requirements\n"
        )
    attribute = _NO_SUBMODULE.search(text)
    if attribute is not None and _is_module(name := f"{attribute[1]}.{attribute[2]}"):
        return (
            f"\nthe function uses the module {name!r}, which is not imported on the workers: a "
            f"function travels without submodules. Import {name!r} inside of the function, or "
            f"write 'from {attribute[1]} import {attribute[2]}'\n"
        )
    return ""


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
