from pathlib import Path
from tempfile import TemporaryDirectory

from millrace.common import Configuration, Duration, WatermarkStrategy
from millrace.connectors import FileSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import StreamFormat


def run(directory: Path) -> None:
    """Read the files that have come since the last run, and end. Cron starts this."""
    settings = Configuration(
        {
            "execution.checkpointing.dir": str(directory / "checkpoints"),
            "millrace.available-now": "true",
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    files = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(directory / "orders")
    ).monitor_continuously(Duration.of_seconds(10))
    customers = env.from_source(files.build(), WatermarkStrategy.no_watermarks(), "orders")
    customers.map(lambda name: (name, 1)).key_by(0).sum(1).print()
    env.execute("orders so far")


with TemporaryDirectory() as temporary:
    orders = Path(temporary, "orders")
    orders.mkdir()
    for day, customers in ("monday", "ada bob ada"), ("tuesday", "bob"), ("sunday", ""):
        if customers:
            (orders / day).write_text("\n".join(customers.split()))
        print(f"{day}:")
        run(Path(temporary))
