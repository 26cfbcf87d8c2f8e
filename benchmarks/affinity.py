"""How often a subtask finds its tables where it left them: in one process tree, and on standalone
clusters, with many more subtasks than cores on the larger one."""

from __future__ import annotations

from bar import Data, Row, Section, table
from job_process import run_ours
from standalone_cluster import StandaloneCluster

TITLE = "Affinity"
BAR = 0.99
CLOSE = ("current", "replayed")
PLACES = {
    "local": "local",
    "cluster": "standalone, two hosts of two cores, parallelism 2",
    "many": "standalone, two hosts of four cores, parallelism 64",
}


def measure(quick: bool) -> Data:
    epochs = 30 if quick else 300
    data = {"local": _run(epochs)}
    with StandaloneCluster(hosts=2, cores=2) as cluster:
        data["cluster"] = _run(epochs, "--master", cluster.master)
    with StandaloneCluster(hosts=2, cores=4) as cluster:
        many = ("--parallelism", 64, "--cores", 8)
        data["many"] = _run(epochs // 3, "--master", cluster.master, *many)
    return data


def _run(epochs: int, *more: object) -> Data:
    arguments = ("--epochs", epochs, "--records", 256, "--keys", 2048, "--load", *more)
    return {"epochs": epochs, "found": run_ours("steady.py", *arguments)["cached"]}


def section(data: Data) -> Section:
    shares = {place: _share(data[place]["found"]) for place in PLACES}
    row = Row(
        "epochs in which a subtask finds its tables current or one replay away "
        "(local and two standalone clusters)",
        f"{BAR:.0%}",
        ", ".join(f"{shares[place]:.1%}" for place in PLACES),
        min(shares.values()) >= BAR,
    )
    kinds = ("current", "replayed", "restored", "new")
    lines = [
        [title, data[place]["epochs"], *(data[place]["found"].get(kind, 0) for kind in kinds)]
        for place, title in PLACES.items()
    ]
    text = "How the subtasks of all stages found their tables, after the state was loaded:"
    return Section([row], [text, table(["where", "epochs", *kinds], lines)])


def _share(found: dict[str, int]) -> float:
    total = sum(found.values())
    return sum(found.get(kind, 0) for kind in CLOSE) / total if total else 0.0
