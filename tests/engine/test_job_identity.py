from __future__ import annotations

from millrace.engine.job_identity import job_id_of, new_run_id


def test_a_job_id_is_readable_stable_and_a_directory_name() -> None:
    assert job_id_of("Word Count!").startswith("word-count-")
    assert job_id_of("Word Count!") == job_id_of("Word Count!")
    assert job_id_of("../../etc/passwd").startswith("etc-passwd-")
    assert job_id_of("数据").startswith("job-")
    assert len(job_id_of("x" * 1000)) < 60


def test_names_that_look_alike_differ() -> None:
    assert len({job_id_of(name) for name in ("a b", "a-b", "A B", "a  b", "x" * 50, "x" * 51)}) == 6


def test_run_ids_differ() -> None:
    assert len({new_run_id() for _ in range(100)}) == 100
