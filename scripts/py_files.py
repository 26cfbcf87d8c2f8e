"""Puts the package into build/millrace.zip, for ``spark-submit --py-files`` (make py-files)."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "millrace"
TARGET = ROOT / "build" / "millrace.zip"
_OLDEST = (1980, 1, 1, 0, 0, 0)
"""The same files make the same archive."""


def main(target: Path = TARGET) -> int:
    """Write the archive."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(str(path.relative_to(PACKAGE.parent)), _OLDEST)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, path.read_bytes())
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
