"""Raw results, a JSON file per bar, kept so that bars can be measured one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from job_process import RESULTS


def save(name: str, result: dict[str, Any], quick: bool) -> None:
    """Keep what was measured. Quick runs are kept apart: they must never get into the table."""
    path = RESULTS / _file(name, quick)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result), encoding="utf-8")


def load(names: Iterable[str], quick: bool) -> dict[str, dict[str, Any]]:
    """The kept results of these bars; those never measured are absent."""
    paths = {name: RESULTS / _file(name, quick) for name in names}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def _file(name: str, quick: bool) -> str:
    return f"quick/{name}.json" if quick else f"{name}.json"
