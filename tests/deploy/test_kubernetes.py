"""The Helm chart and the manifests that are made from it, against Kubernetes' own schemas."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_tools import HELM, KUBECONFORM, VERSIONS, go_program, schemas, tool

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "millrace"
MANIFESTS = ROOT / "deploy" / "kubernetes" / "millrace.yaml"
EVERYTHING = {
    "replicas": "3",
    "highAvailability.type": "zookeeper",
    r"highAvailability.settings.high-availability\.zookeeper\.quorum": "zk-1:2181",
    "storage.sharedClaim": "shared",
    "registry.existingSecret": "registry",
    "tls.existingSecret": "certificate",
    "allowUploads": "true",
    "extraArgs": "{--savepoints=s3://bucket/savepoints}",
    "networkPolicy.from[0].namespaceSelector.matchLabels.team": "streams",
    "storage.className": "fast",
    "image.pullSecrets[0].name": "pull",
    "env[0].name": "AWS_REGION",
    "env[0].value": "eu-west-1",
    "envFrom[0].secretRef.name": "stores",
    "podAnnotations.a": "b",
    "service.type": "LoadBalancer",
}
NOTHING = {
    "executors.enabled": "false",
    "networkPolicy.enabled": "false",
    "podDisruptionBudget.enabled": "false",
}
DRIVER_POD = "spark.kubernetes.driver.pod.name ${env:POD_NAME}"
Template = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def template() -> Template:
    helm = tool("helm", lambda: go_program(HELM))

    def render(**values: str) -> subprocess.CompletedProcess[str]:
        words = [str(helm), "template", "mine", str(CHART), "-n", "other"]
        words += ["--kube-version", "1.34.0"]
        for name, value in values.items():
            words += ["--set", f"{name}={value}"]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    return render


def faults(manifests: str, version: str) -> str:
    """What kubeconform has to say against manifests; "": nothing."""
    kubeconform = tool("kubeconform", lambda: go_program(KUBECONFORM))
    where = tool("schemas of Kubernetes", lambda: Path(schemas(version)))
    words = [str(kubeconform), "-strict", "-schema-location", str(where), "-"]
    run = subprocess.run(words, input=manifests, capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else run.stdout + run.stderr


def documents(manifests: str) -> dict[tuple[str, str], Any]:
    """By kind and name."""
    found = [document for document in yaml.safe_load_all(manifests) if document]
    return {(document["kind"], document["metadata"]["name"]): document for document in found}


@pytest.mark.connectors
def test_helm_lint_finds_nothing() -> None:
    helm = tool("helm", lambda: go_program(HELM))
    words = [str(helm), "lint", "--strict", str(CHART), "--kube-version", "1.34.0"]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.connectors
@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_chart_makes_is_valid(version: str, template: Template) -> None:
    for values in ({}, EVERYTHING, NOTHING):
        made = template(**values)
        assert made.returncode == 0, made.stderr
        assert faults(made.stdout, version) == ""


@pytest.mark.connectors
def test_the_schemas_find_what_is_wrong(template: Template) -> None:
    wrong = template().stdout.replace("serviceName:", "servicename:")
    assert "servicename" in faults(wrong, "1.34.0")


@pytest.mark.connectors
def test_values_that_nobody_reads_are_refused(template: Template) -> None:
    assert "'replica' not allowed" in template(replica="2").stderr


@pytest.mark.connectors
def test_replicas_need_what_they_share(template: Template) -> None:
    values = {"replicas": "2"}
    for missing, given in (
        ("highAvailability.type", "postgresql"),
        ("registry.existingSecret", "registry"),
        ("storage.sharedClaim", "shared"),
    ):
        assert missing in template(**values).stderr
        values[missing] = given
    found = documents(template(**values).stdout)
    [(_, name)] = [key for key in found if key[0] == "StatefulSet"]
    spec = found["StatefulSet", name]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    service = found["StatefulSet", name]["spec"]["serviceName"]
    storage = "/mnt/millrace"
    assert {
        f"--advertise=http://$(POD_NAME).{service}.other.svc:8081",
        "--conf=high-availability.type=postgresql",
        f"--conf=high-availability.storage-dir={storage}",
    } <= set(container["args"])
    [mount] = [each for each in container["volumeMounts"] if each["mountPath"] == storage]
    [volume] = [each for each in spec["volumes"] if each["name"] == mount["name"]]
    assert volume["persistentVolumeClaim"] == {"claimName": "shared"}
    executor = yaml.safe_load(found["ConfigMap", f"{name}-spark"]["data"]["executor.yaml"])
    assert executor["spec"]["volumes"] == [volume]
    assert executor["spec"]["containers"][0]["volumeMounts"] == [mount]
    assert "POD_NAME" in {each["name"] for each in container["env"]}


@pytest.mark.connectors
def test_the_manifests_are_the_chart() -> None:
    helm = tool("helm", lambda: go_program(HELM))
    words = [sys.executable, str(ROOT / "scripts" / "gen_kubernetes.py"), "--check", str(helm)]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_what_the_server_is_given_is_there() -> None:
    """Volumes, service accounts and ports that parts of the manifests name are made by others."""
    found = documents(MANIFESTS.read_text(encoding="utf-8"))
    pod = found["StatefulSet", "millrace"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    claims = found["StatefulSet", "millrace"]["spec"]["volumeClaimTemplates"]
    volumes = {volume["name"] for volume in [*pod["volumes"], *(c["metadata"] for c in claims)]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    assert ("ServiceAccount", pod["serviceAccountName"]) in found
    assert ("ConfigMap", "millrace-spark") in found
    assert found["StatefulSet", "millrace"]["spec"]["serviceName"] == "millrace-replicas"
    labels = found["StatefulSet", "millrace"]["spec"]["template"]["metadata"]["labels"]
    for service in ("millrace", "millrace-replicas"):
        selector = found["Service", service]["spec"]["selector"]
        assert selector.items() <= labels.items()


def test_nothing_runs_as_root_or_writes_its_image() -> None:
    found = documents(MANIFESTS.read_text(encoding="utf-8"))
    pod = found["StatefulSet", "millrace"]["spec"]["template"]["spec"]
    template = yaml.safe_load(found["ConfigMap", "millrace-spark"]["data"]["executor.yaml"])
    for spec in (pod, template["spec"]):
        assert spec["securityContext"]["runAsNonRoot"] is True
        for container in spec["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_the_server_understands_its_words() -> None:
    """The container's arguments are those of the command as it is."""
    from millrace.cli.parser import parse

    found = documents(MANIFESTS.read_text(encoding="utf-8"))
    [container] = found["StatefulSet", "millrace"]["spec"]["template"]["spec"]["containers"]
    parsed = parse(container["args"])
    assert (parsed.host, parsed.port) == ("0.0.0.0", 8081)
    assert str(parsed.token_file) == "/etc/millrace/tokens/operate.token"


def test_each_driver_is_told_its_pod() -> None:
    """Executors belong to the pod of the server that started their driver, whichever leads."""
    found = documents(MANIFESTS.read_text(encoding="utf-8"))
    [container] = found["StatefulSet", "millrace"]["spec"]["template"]["spec"]["containers"]
    [name] = [each for each in container["env"] if each["name"] == "POD_NAME"]
    assert name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert DRIVER_POD in found["ConfigMap", "millrace-spark"]["data"]["spark-defaults.conf"]


@pytest.mark.spark
def test_spark_puts_the_name_of_the_pod_in(spark: Any) -> None:
    """As its classes for Kubernetes read it."""
    key, _, value = DRIVER_POD.partition(" ")
    jvm = spark.sparkContext._jvm
    entry = getattr(jvm, "org.apache.spark.deploy.k8s.Config").KUBERNETES_DRIVER_POD_NAME()
    conf = jvm.org.apache.spark.SparkConf(False)
    assert entry.key() == key
    conf.set(key, value.replace("POD_NAME", "PATH"))
    assert conf.get(entry).get() == jvm.java.lang.System.getenv("PATH")
