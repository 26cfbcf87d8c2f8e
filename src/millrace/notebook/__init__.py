"""Millrace in Jupyter: ``%load_ext millrace.notebook``.

Then cells that begin with ``%%millrace_sql`` have statements, streaming tables at the end of a cell
draw their rows as they come, a `JobClient` there shows how its job does, and so does ``execute()``
while the cell waits for its job.
"""

from __future__ import annotations

from typing import Any

from millrace.datastream.job_launcher import JobLauncher
from millrace.notebook.job_progress import watch, watched
from millrace.notebook.live_table import display_table, show

__all__ = ["load_ipython_extension", "show", "unload_ipython_extension", "watch"]


def load_ipython_extension(shell: Any) -> None:
    """Hook that ``%load_ext`` calls."""
    from millrace.notebook.sql_magic import MAGIC, run_cell

    shell.register_magic_function(run_cell, "cell", MAGIC)
    formatter = shell.display_formatter.ipython_display_formatter
    formatter.for_type_by_name("millrace.table.table", "Table", display_table)
    client = ("millrace.engine.embedded_job_client", "EmbeddedJobClient")
    formatter.for_type_by_name(*client, watch)
    if watched not in JobLauncher.onlookers:
        JobLauncher.onlookers.append(watched)


def unload_ipython_extension(shell: Any) -> None:
    """Hook that ``%unload_ext`` calls."""
    from millrace.notebook.sql_magic import MAGIC

    shell.magics_manager.magics["cell"].pop(MAGIC, None)
    formatter = shell.display_formatter.ipython_display_formatter
    formatter.pop("millrace.table.table.Table", None)
    formatter.pop("millrace.engine.embedded_job_client.EmbeddedJobClient", None)
    if watched in JobLauncher.onlookers:
        JobLauncher.onlookers.remove(watched)
