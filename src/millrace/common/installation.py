"""The command that installs an optional part of Millrace, for messages.

Readers of such a message have Millrace. pip keeps the Millrace that is there, from wherever it
came (a package index, a wheel, a checkout), and adds the libraries of the extra.
"""

from __future__ import annotations

__all__ = ["install_command", "missing_package"]


def install_command(extra: str) -> str:
    """The command that adds the libraries of an extra.

    Example:
        >>> install_command("kafka")
        "pip install 'millrace[kafka]'"
    """
    return f"pip install 'millrace[{extra}]'"


def missing_package(what: str, package: str | None, extra: str, *, on_workers: bool = False) -> str:
    """The message about a missing library.

    Args:
        what: what needs it, and the verb.
        on_workers: whether workers need the library, too.

    Example:
        >>> missing_package("SQL needs", "sqlglot", "sql")
        "SQL needs the package sqlglot: pip install 'millrace[sql]'"
    """
    where = ", on the driver and on every worker" if on_workers else ""
    return f"{what} the package {package}{where}: {install_command(extra)}"
