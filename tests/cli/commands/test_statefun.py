"""``millrace statefun validate`` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODULE = """
kind: io.statefun.endpoints.v2/http
spec:
  functions: com.example/*
  urlPathTemplate: http://localhost:8000/functions
---
kind: io.statefun.playground.v1/ingress
spec:
  port: 8090
"""


def test_components_are_listed(millrace: Any, tmp_path: Path) -> None:
    (tmp_path / "module.yaml").write_text(MODULE)
    told = millrace("statefun", "validate", tmp_path / "module.yaml")
    assert told.code == 0
    first, second = told.out.splitlines()
    assert first.split() == [
        *("http", "endpoint", "com.example/*", "http://localhost:8000/functions")
    ]
    assert second.split() == ["playground", "ingress", "-", "port", "8090"]
    told = millrace("statefun", "validate", "--json", tmp_path / "module.yaml")
    assert json.loads(told.out)[1] == {
        "component": "playground ingress",
        "id": "-",
        "at": "port 8090",
    }


def test_a_fault_is_told_with_its_line(millrace: Any, tmp_path: Path) -> None:
    (tmp_path / "module.yaml").write_text(MODULE.replace("port:", "prot:"))
    told = millrace("statefun", "validate", tmp_path / "module.yaml")
    assert told.code == 1
    assert "module.yaml, document 2, line 9: 'spec' has no key 'prot': did you mean" in told.err
