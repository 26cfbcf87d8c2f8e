from __future__ import annotations

from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.stream import DataStream
from millrace.job_graph.transformation import Input
from millrace.runtime.epoch import Ack
from millrace.runtime.operators.collect import CollectOperator
from millrace.state.serialization.payload import decode
from millrace.testing import OperatorHarness


def test_an_epochs_records_go_with_its_answer() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    collecting = env.from_collection([])._collecting("Collect")
    harness = OperatorHarness(DataStream(env, [Input(collecting)]))
    assert isinstance(harness.operator, CollectOperator)
    harness.process_elements([1, 2])
    harness.process_element(3)
    ack = Ack(0, 0, 0)
    harness.operator.contribute(ack)
    assert decode(ack.results["operator"]) == [1, 2, 3]
    again = Ack(0, 0, 0)
    harness.snapshot()
    harness.operator.contribute(again)
    assert again.results == {}
