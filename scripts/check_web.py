"""Checks that the committed web UI was built from its source. Run by ``make web-check``.

python scripts/check_web.py           build it anew and compare every file; where there is no
                                      Node, or no packages for it, compare a hash of the sources
python scripts/check_web.py --hash    only compare the hash
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "web"
BUILD = ROOT / "src" / "millrace" / "server" / "web"
HASH = "sources.sha256"
FILES = ("index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts")
"""What a build is made from, besides ``src`` and ``public``; web/vite.config.ts names the same."""
OLDEST_NODE = (20, 19)
ADVICE = "run make web and commit src/millrace/server/web"


def sources_hash(source: Path) -> str:
    """The hash of all that a build is made from."""
    names = [*FILES]
    for folder in ("src", "public"):
        files = (path for path in (source / folder).rglob("*") if path.is_file())
        names += [path.relative_to(source).as_posix() for path in files]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\0".encode() + (source / name).read_bytes() + b"\0")
    return digest.hexdigest()


def differences(left: Path, right: Path) -> list[str]:
    """Names of the files that one of two directories has not, or has otherwise."""
    contents = [
        {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file()
        }
        for root in (left, right)
    ]
    names = {*contents[0], *contents[1]}
    return sorted(name for name in names if contents[0].get(name) != contents[1].get(name))


def node_problem() -> str:
    """Why nothing can be built here; empty: it can."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return "there is no Node"
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in said.strip().lstrip("v").split(".")[:2])
    if version < OLDEST_NODE:
        return f"Node {said.strip()} is too old"
    installed = SOURCE / "node_modules" / ".package-lock.json"
    lock = SOURCE / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        done = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund"],
            cwd=SOURCE,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return f"npm ci failed: {done.stderr.strip().splitlines()[-1:]}"
    return ""


def built(directory: Path) -> str:
    """Check the types, run the unit tests, build into a directory; what went wrong, or nothing."""
    for command in (
        ["tsc", "--noEmit"],
        ["vitest", "run"],
        ["vite", "build", "--logLevel", "warn", "--emptyOutDir", "--outDir", str(directory)],
    ):
        program = SOURCE / "node_modules" / ".bin" / command[0]
        done = subprocess.run(
            [program, *command[1:]], cwd=SOURCE, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return f"{command[0]} failed:\n{done.stdout}{done.stderr}"
    return ""


def check(only_hash: bool) -> str:
    """What is wrong; empty: nothing."""
    committed = BUILD / HASH
    known = committed.read_text(encoding="ascii").strip() if committed.exists() else ""
    if known != sources_hash(SOURCE):
        return f"the web UI was built from another source than that in web: {ADVICE}"
    problem = "only the hash was asked for" if only_hash else node_problem()
    if problem:
        print(f"the web UI was not built anew ({problem}); its hash is that of its source")
        return ""
    with tempfile.TemporaryDirectory() as directory:
        problem = built(Path(directory))
        different = [] if problem else differences(Path(directory), BUILD)
    if different:
        return f"the web UI differs from its source in {', '.join(different)}: {ADVICE}"
    return problem


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hash", action="store_true", help="build nothing")
    problem = check(parser.parse_args().hash)
    if problem:
        print(problem, file=sys.stderr)
    return bool(problem)


if __name__ == "__main__":
    sys.exit(main())
