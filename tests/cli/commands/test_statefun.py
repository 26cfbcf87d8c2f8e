"""``millrace statefun`` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.statefun.counting_functions import Counting, check_counts, counting_job
from tests.statefun.function_server import function_server

from millrace.cli import run as runs
from millrace.cli.arguments import RunArguments
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.control_mailbox import Mailbox
from millrace.testing import CollectingSink, run_local

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


INGRESS = """
---
kind: io.statefun.kafka.v1/ingress
spec:
  id: com.example/names
  address: localhost:9092
  startupPosition: {type: earliest}
  topics:
    - topic: names
      valueType: io.statefun.types/string
      targets: [com.exmaple/greeter]
"""


def test_a_target_without_a_function_is_told(millrace: Any, tmp_path: Path) -> None:
    (tmp_path / "module.yaml").write_text(MODULE + INGRESS)
    told = millrace("statefun", "validate", tmp_path / "module.yaml")
    assert told.code == 0
    assert "module.yaml, document 3, line 20: the ingress com.example/names sends to" in told.err
    assert "com.exmaple/greeter, which no endpoint serves: it must be in the file of" in told.err


def test_a_fault_is_told_with_its_line(millrace: Any, tmp_path: Path) -> None:
    (tmp_path / "module.yaml").write_text(MODULE.replace("port:", "prot:"))
    told = millrace("statefun", "validate", tmp_path / "module.yaml")
    assert told.code == 1
    assert "module.yaml, document 2, line 9: 'spec' has no key 'prot'; did you mean" in told.err


def test_a_run_has_the_module_and_its_functions(
    millrace: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[RunArguments] = []
    monkeypatch.setattr(runs, "run", lambda arguments: ran.append(arguments) or 0)
    module, functions = tmp_path / "module.yaml", tmp_path / "functions.py"
    module.write_text(MODULE)
    functions.write_text("")
    told = millrace("statefun", "run", "--parallelism", "2", module, "--module", functions)
    assert (told.code, told.err) == (0, "")
    (arguments,) = ran
    assert arguments.job.name == "module_program.py"
    assert arguments.job_arguments == (str(module), str(functions))
    assert arguments.py_files == (functions,)
    assert arguments.settings.get_string("millrace.executor") == "resident"
    assert arguments.resume_command().startswith("millrace statefun run --resume --parallelism 2")


@pytest.mark.parametrize(
    ("words", "executor"),
    [
        ((), "resident"),
        (("--conf", "millrace.executor=epochs"), "epochs"),
        (("--available-now",), None),
        (("--conf", "spark.dynamicAllocation.enabled=true"), None),
        (("--conf", "spark.dynamicAllocation.enabled=True"), None),
    ],
)
def test_the_executor_of_a_module(
    words: tuple[str, ...],
    executor: str | None,
    millrace: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[RunArguments] = []
    monkeypatch.setattr(runs, "run", lambda arguments: ran.append(arguments) or 0)
    (tmp_path / "module.yaml").write_text(MODULE)
    assert millrace("statefun", "run", *words, tmp_path / "module.yaml").code == 0
    assert ran[0].settings.get_string("millrace.executor") == executor


def test_a_run_without_its_files_is_wrong_usage(millrace: Any, tmp_path: Path) -> None:
    (tmp_path / "module.yaml").write_text(MODULE.replace("port:", "prot:"))
    told = millrace("statefun", "run", tmp_path / "module.yaml")
    assert told.code == 1
    assert "line 9" in told.err
    (tmp_path / "module.yaml").write_text(MODULE)
    told = millrace("statefun", "run", tmp_path / "module.yaml", "--module", tmp_path / "no.py")
    assert told.code == 2
    assert "no.py is not one" in told.err
    told = millrace("statefun", "run", tmp_path / "module.yaml", "--master", "spark://host:7077")
    assert told.code == 2
    assert "has a playground ingress, which listens on the loopback interface of" in told.err
    (tmp_path / "queue.py").write_text("")
    told = millrace("statefun", "run", tmp_path / "module.yaml", "--module", tmp_path / "queue.py")
    assert told.code == 2
    assert "has the name of Python's module 'queue'" in told.err


def test_a_running_job_gets_the_endpoints_of_a_module(
    millrace: Any, place: Any, tmp_path: Path
) -> None:
    counting, sink, module = Counting(), CollectingSink[str](), tmp_path / "module.yaml"
    with (
        function_server(counting) as first,
        function_server(counting) as second,
        run_local(checkpoint_dir=str(place.checkpoints)),
    ):
        env = StreamExecutionEnvironment.get_execution_environment()
        counting_job(env, first.url, sink, builder="module")
        client = env.execute_async("counts")
        while Mailbox(client.get_job_directory()).running() is None:
            assert not client.get_job_execution_result().done()
        module.write_text(
            MODULE.replace("com.example/*", "test/*").replace("http://localhost:8000", second.url)
        )
        told = millrace("statefun", "update", "counts", module)
        assert told.out.startswith("job 'counts' has 1 endpoint, as of checkpoint "), told.err
        while not second.served:
            client.get_job_status().result()
        told = millrace("statefun", "update", "counts", module, "--functions", "other")
        assert told.code == 1
        assert "no operator 'statefun-other' that takes messages, only: statefun-module" in told.err
        counting.is_over.set()
        client.get_job_execution_result().result()
    check_counts(sink.values())
    told = millrace("statefun", "update", "counts", module)
    assert told.code == 1
    assert "job 'counts' is not running" in told.err


def test_a_module_runs_like_a_job_file(
    millrace: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[RunArguments] = []
    monkeypatch.setattr(runs, "run", lambda arguments: ran.append(arguments) or 0)
    module, functions = tmp_path / "module.yaml", tmp_path / "functions.py"
    module.write_text(MODULE)
    functions.write_text("")
    told = millrace("run", "--resume", module, "functions.py")
    assert (told.code, told.err) == (0, "")
    (arguments,) = ran
    assert arguments.job.name == "module_program.py"
    assert arguments.job_arguments == (str(module), str(functions))
    assert arguments.resume
    told = millrace("run", module, "none.py")
    assert told.code == 2
    assert "is a Python file with functions, but" in told.err
    (tmp_path / "queue.py").write_text("")
    told = millrace("run", module, "queue.py")
    assert told.code == 2
    assert "has the name of Python's module 'queue'" in told.err
