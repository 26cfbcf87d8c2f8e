"""Writes deploy/kubernetes/millrace.yaml: the Helm chart with its default values, for ``kubectl``.

Usage: python scripts/gen_kubernetes.py [--check] [HELM]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "helm" / "millrace"
MANIFESTS = ROOT / "deploy" / "kubernetes" / "millrace.yaml"
HEAD = """\
# Made by scripts/gen_kubernetes.py from deploy/helm/millrace. For a namespace "millrace":
#   kubectl create namespace millrace
#   kubectl -n millrace create secret generic millrace-tokens \\
#     --from-literal=operate.token="$(openssl rand -hex 32)" \\
#     --from-literal=read.token="$(openssl rand -hex 32)"
#   kubectl apply -f deploy/kubernetes/millrace.yaml
"""


def rendered(helm: str) -> str:
    """The manifests as helm makes them."""
    words = [helm, "template", "millrace", str(CHART), "--namespace", "millrace"]
    # helm that was built from its module does not know of newer versions
    words += ["--kube-version", "1.34.0"]
    return HEAD + subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main(arguments: list[str]) -> int:
    """Write the file, or say whether it is as it would be written."""
    names = [word for word in arguments if word != "--check"]
    text = rendered(names[0] if names else "helm")
    if "--check" not in arguments:
        MANIFESTS.write_text(text, encoding="utf-8")
        return 0
    if MANIFESTS.read_text(encoding="utf-8") == text:
        return 0
    print("deploy/kubernetes/millrace.yaml is old: run scripts/gen_kubernetes.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
