"""Gives the documentation the logo and the type of the web UI: a hook of MkDocs.

The files are those of the web UI (``web/public``, and the built ``src/millrace/server/web``), so
that they are in the repository once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
ICON = ROOT / "web" / "public" / "icon.svg"
ASSETS = ROOT / "src" / "millrace" / "server" / "web" / "assets"
FONT = "inter-latin-wght-normal-*.woff2"
"""The built name has a hash."""


def look_files() -> dict[str, Path]:
    """Files of the web UI by their paths in the documentation."""
    [font] = ASSETS.glob(FONT)
    return {
        "look/icon.svg": ICON,
        "look/inter.woff2": font,
        "look/inter-licence.txt": ASSETS / "inter-licence.txt",
    }


def on_files(files: Any, *, config: Any) -> Any:
    """Add the files to those of the documentation."""
    for path, source in look_files().items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files
