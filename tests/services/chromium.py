"""Chromium without a window: that of the machine, or of the Debian package."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from debian import debian_packages
from service import Service, ServiceUnavailableError

FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
"""Root has no sandbox, and containers have little shared memory."""


class Chromium(Service):
    """A browser that Playwright drives; it needs no port."""

    name: ClassVar[str] = "Chromium"
    command: ClassVar[str] = "chromium"
    fixture: ClassVar[str] = "chromium"

    @classmethod
    def install(cls) -> None:
        _program()

    @property
    def environment(self) -> Mapping[str, str]:
        program, environment = _program()
        return {**environment, "CHROMIUM": str(program)}

    def start(self) -> None:
        program, environment = _program()
        done = subprocess.run(
            [program, "--headless", "--dump-dom", "about:blank", *FLAGS],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ServiceUnavailableError(f"Chromium does not start: {done.stderr.strip()[-500:]}")

    def launch(self, playwright: Any) -> Any:
        """A browser of its own; close it."""
        program, environment = _program()
        return playwright.chromium.launch(
            executable_path=str(program), args=list(FLAGS), env={**os.environ, **environment}
        )


def _program() -> tuple[Path, dict[str, str]]:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found:
        return Path(found), {}
    # all that a machine may have already is named: the program looks for it beside itself
    packages = debian_packages(
        "chromium", "chromium", "chromium-common", "fonts-dejavu-core", "fontconfig-config"
    )
    # what is beside the program, not the script in usr/bin: that looks below the real root
    fonts = {"XDG_DATA_HOME": str(packages.path("usr/share"))}
    environment = {**packages.environment, **fonts}
    settings = list(packages.root.glob("etc/fonts/fonts.conf"))
    if settings:
        environment["FONTCONFIG_FILE"] = str(settings[0])
    return packages.path("usr/lib/chromium/chromium"), environment
