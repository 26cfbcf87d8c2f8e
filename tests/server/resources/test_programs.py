"""Programs that are uploaded, and those that are there."""

from __future__ import annotations

import errno
import io
import os
import zipfile
from dataclasses import replace
from importlib import import_module

import gallery
import pytest
from starlette.testclient import TestClient

from millrace.common.config.configuration import OPTIONS
from millrace.server import request_body
from millrace.server.application import create_application
from millrace.server.harmless_settings import beyond_program
from millrace.server.job_server import JobServer
from millrace.server.server_options import is_of_server

COUNT = (
    '"""Counts.\n\nSlowly."""\n'
    "import sys\n"
    "from millrace.datastream import StreamExecutionEnvironment\n"
    "print('noise')\n"
    "env = StreamExecutionEnvironment.get_execution_environment()\n"
    "env.from_collection([1]).rebalance().map(lambda x: x).uid('m').print().uid('p')\n"
    "env.execute('count' + ''.join(sys.argv[1:]))\n"
)


@pytest.fixture
def submitted(monkeypatch) -> list:
    """What would have been started."""
    found: list = []
    monkeypatch.setattr(
        "millrace.server.job_process.JobProcess.start",
        lambda self, submission, token=0: found.append(submission),
    )
    return found


@pytest.fixture
def api(tmp_path, submitted) -> TestClient:
    (tmp_path / "programs" / "team").mkdir(parents=True)
    (tmp_path / "programs" / "team" / "there.py").write_text(COUNT)
    server = gallery.server_of(
        tmp_path,
        allow_uploads=True,
        upload_limit=100_000,
        programs=(tmp_path / "programs").resolve(),
    )
    yield TestClient(create_application(server, gallery.NO_TOKENS), gallery.LOCAL)
    server.registry.close()


def upload(api: TestClient, name: str, content: bytes) -> str:
    answer = api.post("/jars/upload", files={"file": (name, content)})
    assert answer.status_code == 200, answer.text
    return answer.json()["filename"].rpartition("/")[2]


def archive(**members: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name.replace("__py", ".py").replace("UP", "../../"), content)
    return data.getvalue()


@pytest.mark.turns(5)
def test_upload_list_run_delete(api, submitted, tmp_path) -> None:
    id = upload(api, "../my job.py", COUNT.encode())
    (file,) = api.get("/jars").json()["files"]
    assert (file["id"], file["name"]) == (id, "my_job.py")
    assert file["entry"] == [{"name": id, "description": "Counts."}]
    body = {
        "programArgsList": ["--a", "b c"],
        "parallelism": 3,
        "savepointPath": f"file://{tmp_path}",
        "allowNonRestoredState": True,
        "jobName": "-odd",
        "flinkConfiguration": {"state.backend.type": "rocksdb"},
    }
    job = api.post(f"/jars/{id}/run", json=body).json()["jobid"]
    (submission,) = submitted
    assert submission.arguments == ("--a", "b c")
    assert submission.options == (
        "--parallelism", "3", f"--from-savepoint=file://{tmp_path}", "--allow-non-restored-state",
        "--conf=state.backend.type=rocksdb",
    )  # fmt: skip
    assert submission.name == "-odd"
    assert api.get(f"/jobs/{job}").json()["state"] == "CREATED"
    assert api.delete(f"/jars/{id}").status_code == 409
    assert api.patch(f"/jobs/{job}").status_code == 202


@pytest.mark.turns(5)
def test_delete(api) -> None:
    one, two = upload(api, "a.py", b"1"), upload(api, "b.zip", archive(__main____py="1"))
    assert api.delete(f"/jars/{one}").json() == {}
    assert api.delete(f"/jars/{two}").status_code == 200
    assert api.get("/jars").json()["files"] == []
    assert api.delete(f"/jars/{one}").status_code == 404
    assert api.delete("/jars/%2E%2E").status_code == 404


@pytest.mark.turns(5)
def test_flinks_older_ways_to_give_arguments(api, submitted) -> None:
    id = upload(api, "a.py", b"1")
    api.post(f"/jars/{id}/run", json={"programArgs": "--k 'v w'"})
    api.post(f"/jars/{id}/run?parallelism=2&program-args=x")
    assert [each.arguments for each in submitted] == [("--k", "v w"), ("x",)]
    assert submitted[1].options == ("--parallelism", "2")


@pytest.mark.turns(5)
def test_an_archive(api, submitted, tmp_path) -> None:
    id = upload(api, "jobs.zip", archive(__main____py="1", other__py="2"))
    api.post(f"/jars/{id}/run")
    api.post(f"/jars/{id}/run", json={"entryClass": "other.py"})
    assert [each.program.rpartition("/")[2] for each in submitted] == ["__main__.py", "other.py"]
    assert api.post(f"/jars/{id}/run", json={"entryClass": "../x.py"}).status_code == 400


@pytest.mark.turns(5)
@pytest.mark.parametrize("flag", [1, 0])
def test_a_damaged_archive(api, tmp_path, flag: int) -> None:
    """Also what `zipfile` tells in errors of other modules."""
    data = bytearray(archive(__main____py="print(1)\n" * 500))
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        begins = opened.infolist()[0].header_offset + 30 + len("__main__.py")
    data[begins : begins + 8] = bytes([flag]) * 8
    answer = api.post("/jars/upload", files={"file": ("job.zip", bytes(data))})
    assert answer.status_code == 400
    assert "job.zip cannot be unpacked" in answer.json()["errors"][0]
    assert list((tmp_path / "uploads").iterdir()) == []


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    ("given", "kept"), [("時計.py", "program.py"), (".py.py", "py.py"), ("a" * 300 + ".py", "a")]
)
def test_odd_names(api, given: str, kept: str) -> None:
    id = upload(api, given, COUNT.encode())
    assert id.partition("_")[2].startswith(kept)
    assert [file["id"] for file in api.get("/jars").json()["files"]] == [id]


@pytest.mark.turns(5)
def test_an_archive_stays_inside(api, tmp_path) -> None:
    upload(api, "evil.zip", archive(UPescaped__py="1", __main____py="1"))
    assert not list(tmp_path.glob("escaped*")) + list(tmp_path.parent.glob("escaped*"))
    assert not list(tmp_path.glob("uploads/escaped*"))


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("a.jar", b"", 400),
        ("a.py", b"def", 400),
        ("a.py", b"\0", 400),
        ("a.zip", b"no archive", 400),
        ("a.zip", archive(readme="x"), 400),
        ("a.py", b"#" * 100_001, 413),
        ("a.py", b"#" * 300_000, 413),
    ],
)
def test_what_is_no_program(api, tmp_path, name, content, status) -> None:
    answer = api.post("/jars/upload", files={"file": (name, content)})
    assert answer.status_code == status, answer.text
    assert list((tmp_path / "uploads").glob("*")) == []


@pytest.mark.turns(5)
def test_forms_that_are_none(api) -> None:
    assert api.post("/jars/upload", data={"x": "y"}).status_code == 400
    assert api.post("/jars/upload", content=b"xyz").status_code == 400
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    assert api.post("/jars/upload", content=b"xyz", headers=kind).status_code == 400
    kind = {"Content-Type": "multipart/form-data"}
    assert api.post("/jars/upload", content=b"xyz", headers=kind).status_code == 400


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    "body",
    [
        {"parallelism": 0},
        {"parallelism": "2"},
        {"flinkConfiguration": {"no.such.key": "1"}},
        {"flinkConfiguration": {"parallelism.default": "many"}},
        {"programArgs": "'"},
        {"savepointPath": "/deleted/chk-7"},
        {"flinkConfiguration": {"execution.state-recovery.path": "file:///deleted/chk-7"}},
        {"programArgsList": ["\0"]},
        [],
    ],
)
def test_wrong_wishes(api, submitted, body) -> None:
    id = upload(api, "a.py", b"1")
    assert api.post(f"/jars/{id}/run", json=body).status_code == 400
    assert submitted == []


@pytest.mark.turns(5)
def test_programs_that_are_there(api, submitted, tmp_path) -> None:
    (file,) = api.get("/programs").json()["files"]
    assert file["id"] == "team/there.py"
    assert "jobid" in api.post("/programs/run", json={"program": file["id"]}).json()
    inside = str(tmp_path / "programs" / "team" / "there.py")
    assert "jobid" in api.post("/programs/run", json={"program": inside}).json()
    assert [each.program for each in submitted] == [inside, inside]
    outside = tmp_path / "outside.py"
    outside.write_text("1")
    (tmp_path / "programs" / "link.py").symlink_to(outside)
    for wrong, status in {
        "../outside.py": 403, str(outside): 403, "link.py": 403, "none.py": 404, "\0": 400,
    }.items():  # fmt: skip
        assert api.post("/programs/run", json={"program": wrong}).status_code == status
    assert len(api.get("/programs").json()["files"]) == 1


@pytest.mark.turns(5)
def test_both_are_off_unless_asked_for(job_server: JobServer) -> None:
    api = TestClient(create_application(job_server, gallery.NO_TOKENS), gallery.LOCAL)
    assert api.post("/jars/upload", files={"file": ("a.py", b"1")}).status_code == 403
    assert api.post("/programs/run", json={"program": "a.py"}).status_code == 403
    assert api.get("/jars").json()["files"] == api.get("/programs").json()["files"] == []
    on = replace(job_server.settings, allow_uploads=True)
    assert on != job_server.settings


@pytest.mark.turns(5)
def test_the_plan_of_a_program(api) -> None:
    id = upload(api, "count.py", COUNT.encode())
    plan = api.post(f"/jars/{id}/plan", json={"programArgs": "er", "parallelism": 2}).json()["plan"]
    assert plan["name"] == "counter"
    assert [node["parallelism"] for node in plan["nodes"]] == [1, 2]
    broken = upload(api, "broken.py", b"1 / 0")
    answer = api.get(f"/jars/{broken}/plan")
    assert (answer.status_code, "ZeroDivisionError" in answer.text) == (400, True)


@pytest.mark.turns(5)
def test_a_full_disk(api, tmp_path, monkeypatch) -> None:
    """It is said, and nothing is left of the upload."""
    opened = os.fdopen

    def full(descriptor: int, mode: str):
        os.close(descriptor)
        return open("/dev/full", mode)

    monkeypatch.setattr(request_body.os, "fdopen", full)
    answer = api.post("/jars/upload", files={"file": ("count.py", COUNT.encode())})
    assert answer.status_code == 507
    assert "no space left on the server's disk" in answer.json()["errors"][0]
    monkeypatch.setattr(request_body.os, "fdopen", opened)

    def no_room(self, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zipfile.ZipFile, "extractall", no_room)
    data = archive(**{"__main__.py": COUNT})
    assert api.post("/jars/upload", files={"file": ("many.zip", data)}).status_code == 507
    assert list((tmp_path / "uploads").iterdir()) == []


REACHING = [
    "spark.driver.extraJavaOptions",
    "spark.executor.extraJavaOptions",
    "spark.driver.defaultJavaOptions",
    "spark.driver.extraClassPath",
    "spark.jars",
    "spark.jars.packages",
    "spark.plugins",
    "spark.extraListeners",
    "spark.submit.pyFiles",
    "spark.pyspark.python",
    "spark.python.daemon.module",
    "spark.executorEnv.PYTHONPATH",
    "spark.master",
    "spark.hadoop.fs.s3a.endpoint",
    "python.executable",
    "python.files",
    "python.archives",
    "python.requirements",
    "pipeline.jars",
    "pipeline.classpaths",
    "metrics.reporter.mine.factory.class",
    "execution.state-recovery.allow-pickle",
    "execution.checkpointing.dir",
    "s3.endpoint",
    "millrace.control.directory",
]


@pytest.mark.turns(5)
@pytest.mark.parametrize("uploads", [False, True])
def test_settings_that_reach_code_are_for_those_who_may_upload(
    tmp_path, submitted, uploads: bool
) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "there.py").write_text(COUNT)
    directory = (tmp_path / "programs").resolve()
    server = gallery.server_of(tmp_path, allow_uploads=uploads, programs=directory)
    api = TestClient(create_application(server, gallery.NO_TOKENS), gallery.LOCAL)

    def run(key: str, value: str) -> tuple[int, str]:
        body = {"program": "there.py", "flinkConfiguration": {key: value}}
        answer = api.post("/programs/run", json=body)
        return answer.status_code, answer.text

    for key in REACHING:
        status, text = run(key, "false" if key.endswith("allow-pickle") else "x:1")
        if uploads:
            assert status == 200, (key, text)
        else:
            assert (status, key in text) == (403, True), (key, text)
    for key, value in (("user.name", "x"), ("parallelism.default", "2"), ("spark.cores.max", "2")):
        assert run(key, value)[0] == 200, key
    server.registry.close()


@pytest.mark.turns(5)
def test_each_option_is_known_to_be_harmless_or_not() -> None:
    """A new one is refused until it is written into the one list or the other."""
    import_module("millrace.table")  # has options of its own, whatever tests ran before
    beyond = set(beyond_program(dict.fromkeys(OPTIONS, "")))
    of_server = {key for key in beyond if is_of_server(key)}
    assert {key for key in beyond - of_server if not key.startswith("rest.")} == {
        "execution.checkpointing.dir",
        "execution.checkpointing.savepoint-dir",
        "execution.state-recovery.allow-pickle",
        "jobmanager.bind-host",
        "jobmanager.rpc.address",
        "jobmanager.rpc.port",
        "millrace.control.directory",
        "millrace.preview.enabled",
        "pipeline.classpaths",
        "pipeline.jars",
        *(f"python.{of}" for of in ("archives", "executable", "files", "requirements")),
        "s3.endpoint",
        "s3.endpoint.region",
        "s3.path.style.access",
        "state.backend.rocksdb.localdir",
    }


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    ("query", "body", "told"),
    [
        ("", {"paralelism": 2}, "unknown field 'paralelism'; did you mean 'parallelism'?"),
        ("", {"jobname": "x"}, "unknown field 'jobname'; did you mean 'jobName'?"),
        ("?programArgs=x", {}, "unknown parameter 'programArgs'; did you mean 'programArg'?"),
        (
            "",
            {"flinkConfiguration": {"paralelism.default": "2"}},
            "unknown configuration key 'paralelism.default'; did you mean 'parallelism.default'?",
        ),
    ],
)
def test_a_misspelt_name_is_told_the_right_one(api, submitted, query, body, told) -> None:
    id = upload(api, "a.py", b"1")
    answer = api.post(f"/jars/{id}/run{query}", json=body)
    assert (answer.status_code, answer.json()["errors"]) == (400, [told])
    assert submitted == []


@pytest.mark.turns(5)
def test_fields_of_other_releases_of_flink_pass(api, submitted) -> None:
    id = upload(api, "a.py", b"1")
    assert api.post(f"/jars/{id}/run", json={"jobId": None, "scaling": 1}).status_code == 200


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
FAULTY = MODULE.replace("port:", "prot:")
FAULT = "document 2, line 9: 'spec' has no key 'prot'; did you mean 'port'?"


@pytest.mark.turns(5)
def test_a_module_is_a_program(api, submitted) -> None:
    id = upload(api, "shop.yaml", MODULE.encode())
    (file,) = api.get("/jars").json()["files"]
    assert file["entry"] == [{"name": id, "description": "Module of Stateful Functions"}]
    assert api.post(f"/jars/{id}/run").status_code == 200
    (submission,) = submitted
    assert submission.program.endswith("_shop.yaml")
    assert submission.name == "shop"
    plan = api.get(f"/jars/{id}/plan").json()["plan"]
    assert any("Functions module" in node["description"] for node in plan["nodes"])


@pytest.mark.turns(5)
def test_an_archive_has_a_module_and_its_functions(api, submitted) -> None:
    id = upload(api, "cart.zip", archive(**{"module.yaml": MODULE, "functions__py": "x = 1"}))
    body = {"entryClass": "module.yaml", "programArgsList": ["functions.py"], "jobName": "Carts"}
    assert api.post(f"/jars/{id}/run", json=body).status_code == 200
    assert api.post(f"/jars/{id}/run").status_code == 200
    first, second = submitted
    assert (first.name, first.arguments) == ("Carts", ("functions.py",))
    assert first.program.endswith("module.yaml")
    assert (second.name, second.program) == ("cart", first.program)


@pytest.mark.turns(5)
def test_a_faulty_module_is_refused_with_its_line(api) -> None:
    answer = api.post("/jars/upload", files={"file": ("shop.yaml", FAULTY.encode())})
    assert (answer.status_code, answer.json()["errors"]) == (400, [f"shop.yaml, {FAULT}"])
    content = archive(**{"module.yaml": FAULTY})
    answer = api.post("/jars/upload", files={"file": ("shop.zip", content)})
    assert (answer.status_code, answer.json()["errors"]) == (400, [f"module.yaml, {FAULT}"])


@pytest.mark.turns(5)
def test_modules_can_be_checked_without_a_run(api) -> None:
    answer = api.post("/statefun/validate", json={"content": MODULE})
    assert answer.json()["components"][1] == {
        "component": "playground ingress",
        "id": "-",
        "at": "port 8090",
    }
    answer = api.post("/statefun/validate", json={"content": FAULTY, "name": "shop.yaml"})
    assert (answer.status_code, answer.json()["errors"]) == (400, [f"shop.yaml, {FAULT}"])


@pytest.mark.turns(5)
def test_modules_below_the_directory_of_programs_can_be_run(api, submitted, tmp_path) -> None:
    team = tmp_path / "programs" / "team"
    (team / "shop.yaml").write_text(MODULE)
    (team / "service.yaml").write_text("kind: Service\n")
    names = [file["name"] for file in api.get("/programs").json()["files"]]
    assert names == ["shop.yaml", "there.py"]
    assert api.post("/programs/run", json={"program": "team/shop.yaml"}).status_code == 200
    assert submitted[0].name == "shop"


@pytest.mark.turns(5)
def test_a_module_in_a_directory_has_its_name(api, submitted, tmp_path) -> None:
    for name in ("cart", "shop"):
        directory = tmp_path / "programs" / name
        directory.mkdir()
        (directory / "module.yaml").write_text(MODULE)
        assert api.post("/programs/run", json={"program": f"{name}/module.yaml"}).status_code == 200
    assert [submission.name for submission in submitted] == ["cart", "shop"]


@pytest.mark.turns(5)
def test_an_archive_without_programs_and_modules_is_refused(api) -> None:
    content = archive(**{"service.yaml": "kind: Service\n", "sub/module.yaml": "kind: Module\n"})
    answer = api.post("/jars/upload", files={"file": ("shop.zip", content)})
    assert (answer.status_code, answer.json()["errors"]) == (
        *(400, ["shop.zip has no Python file and no module of Stateful Functions"]),
    )
    content = archive(**{"shop.yaml": FAULTY})
    answer = api.post("/jars/upload", files={"file": ("shop.zip", content)})
    assert (answer.status_code, answer.json()["errors"]) == (400, [f"shop.yaml, {FAULT}"])


@pytest.mark.turns(5)
def test_functions_of_a_subdirectory_find_the_modules_beside_them(api) -> None:
    pytest.importorskip("statefun")
    functions = (
        "import statefun, beside\nfunctions = statefun.StatefulFunctions()\n"
        "functions.bind(beside.NAME)(lambda context, message: None)\n"
    )
    members = {"sub/f__py": functions, "sub/beside__py": "NAME = 'com.example/f'"}
    id = upload(api, "cart.zip", archive(**{"module.yaml": MODULE, **members}))
    body = {"entryClass": "module.yaml", "programArgsList": ["sub/f.py"]}
    answer = api.post(f"/jars/{id}/plan", json=body)
    assert answer.status_code == 200, answer.text


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", ["/tmp/other.py", "../other.py", "sub/../../other.py"])
def test_the_functions_of_a_module_are_in_its_directory(api, name) -> None:
    """A server runs the programs that it has, and no other file."""
    id = upload(api, "cart.zip", archive(**{"module.yaml": MODULE, "functions__py": "x = 1"}))
    body = {"entryClass": "module.yaml", "programArgsList": [name]}
    for path in ("run", "plan"):
        answer = api.post(f"/jars/{id}/{path}", json=body)
        assert answer.status_code == 400
        assert "must be in its directory" in answer.json()["errors"][0]
