from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.datastream import StreamExecutionEnvironment

trips = [
    {"car": "A17", "km": 120.0, "litres": 8.4},
    {"car": "B42", "km": 0.0, "litres": 0.5},
    {"car": "A17", "km": 80.0, "litres": 4.8},
]


def driven(batch: pa.RecordBatch) -> Any:
    return batch.filter(pc.greater(batch["km"], 0))


def with_consumption(batch: pa.RecordBatch) -> Any:
    litres = pc.multiply(pc.divide(batch["litres"], batch["km"]), 100)
    return batch.append_column("per_100_km", pc.round(litres, 1))


env = StreamExecutionEnvironment.get_execution_environment()
(
    env.from_collection(trips)
    .map_batches(driven)
    .map_batches(with_consumption)
    .map(lambda trip: f"{trip['car']} used {trip['per_100_km']} litres per 100 km")
    .print()
)
env.execute("consumption")
