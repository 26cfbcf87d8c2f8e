"""LOAD, UNLOAD and USE MODULES: there is one module, ``core``, with all built-in functions."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.sql.statements import LoadModule, UnloadModule, UseModules
from millrace.table.catalog.errors import CatalogError, not_found
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["load_module", "unload_module", "use_modules"]

CORE = "core"


def load_module(session: TableSession, statement: LoadModule) -> TableResult:
    """LOAD MODULE: always refused, because ``core`` is loaded."""
    if statement.name == CORE:
        raise CatalogError(f"the module {CORE} is loaded already, and it is the only one", CORE)
    raise JobDefinitionError(
        f"there is no module {statement.name!r} to load: the built-in functions are in "
        f"{CORE}, and functions of your own are created by CREATE FUNCTION"
    )


def unload_module(session: TableSession, statement: UnloadModule) -> TableResult:
    """UNLOAD MODULE: always refused."""
    if statement.name == CORE:
        raise JobDefinitionError(
            f"the module {CORE} has the built-in functions, and cannot be unloaded. To hide "
            "one of them, use CREATE TEMPORARY SYSTEM FUNCTION with its name"
        )
    raise not_found("module", statement.name, [CORE])


def use_modules(session: TableSession, statement: UseModules) -> TableResult:
    """USE MODULES: accepts only ``core``, and has no effect."""
    for name in statement.names:
        if name != CORE:
            raise not_found("module", name, [CORE])
    return TableResult.ok()
