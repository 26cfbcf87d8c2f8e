"""What a person is told of an epoch that was lost."""

from __future__ import annotations

from millrace.spark.executor import reason_of


def test_the_end_of_a_workers_traceback_is_kept() -> None:
    frames = "".join(f'  File "/far/away/module_{i}.py", line {i}, in call\n' for i in range(100))
    told = reason_of(
        RuntimeError(
            "Job aborted due to stage failure: Task 0 failed 4 times: PythonException: Traceback "
            f"(most recent call last):\n{frames}KeyError: 'a'\n\nDuring handling of the above "
            f"exception, another one occurred:\n\nTraceback (most recent call last):\n{frames}"
            "ImportError: no module called 'absent'\n\n\tat org.apache.spark.Other(Other.scala:9)\n"
        )
    )
    assert told.startswith("Job aborted due to stage failure: Task 0 failed 4 times")
    assert told.endswith("ImportError: no module called 'absent'")
    assert len(told) < 1300


def test_what_follows_a_short_reason_is_left_out() -> None:
    told = reason_of(RuntimeError("the executor is gone\n\nDriver stacktrace:\n\tat a.b(C.java:1)"))
    assert told == "the executor is gone"
