from __future__ import annotations

from millrace.datastream import SinkFunction, StreamExecutionEnvironment
from millrace.datastream.stream import DataStream
from millrace.job_graph.transformation import Input
from millrace.testing import OperatorHarness


def harness(function, **settings) -> OperatorHarness:
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = env.from_collection([]).add_sink(function)
    return OperatorHarness(DataStream(env, [Input(sink._transformation)]), **settings)


def test_a_callable_gets_every_record() -> None:
    got: list[object] = []
    sink = harness(got.append)
    sink.process_elements(["a", "b"])
    sink.process_element("c", 5)
    assert got == ["a", "b", "c"]


def test_a_sink_function_sees_its_context() -> None:
    got: list[object] = []

    class Write(SinkFunction):
        def open(self, runtime_context):
            got.append(runtime_context.get_task_name())

        def invoke(self, value, context):
            times = context.current_processing_time(), context.current_watermark()
            got.append((value, context.timestamp(), *times))

        def close(self):
            got.append("closed")

    with harness(Write(), processing_time=77) as sink:
        sink.process_element("a", 5)
        sink.process_watermark(3)
        sink.process_element("b")
    assert got == ["Sink", ("a", 5, 77, -(2**63)), ("b", None, 77, 3), "closed"]
