"""Kinesalite: an emulator of Kinesis data streams, from npm (15 MB; it needs node).

It ends shards that are split or merged, as Amazon's service does. moto does not: there a shard
never ends, and its records move to its children.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from service import Service, cache_directory, free_ports, install_lock, run_installer

PACKAGE = "kinesalite@3.3.3"
_SERVER = """
// Without a record behind the time, kinesalite never answers; Kinesis gives an iterator at the end.
const path = require.resolve('kinesalite/actions/getShardIterator')
const original = require(path)
require.cache[path].exports = (store, data, cb) => {
  if (data.ShardIteratorType != 'AT_TIMESTAMP') return original(store, data, cb)
  let answered = false
  const once = (...said) => { if (!answered) { answered = true; cb(...said) } }
  original(store, data, once)
  const latest = {...data, ShardIteratorType: 'LATEST'}
  store.getStreamDb(data.StreamName).createReadStream().on('data', () => {}).on('end', () =>
    setTimeout(() => answered || original(store, latest, once), 200))
}
const options = {createStreamMs: 0, updateStreamMs: 0, deleteStreamMs: 0, shardLimit: 1000}
require('kinesalite')(options).listen(Number(process.argv[2]), '127.0.0.1')
"""


class Kinesalite(Service):
    """The service, in memory."""

    name: ClassVar[str] = "Kinesis (kinesalite)"
    command: ClassVar[str] = "kinesis"
    fixture: ClassVar[str] = "kinesalite"
    stop_seconds: ClassVar[float] = 0
    region: ClassVar[str] = "eu-west-1"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.port = 0
        self._client: Any = None

    @classmethod
    def install(cls) -> None:
        directory = _installed()
        done = directory / ".installed"
        with install_lock(directory.name):
            if not done.exists():
                run_installer(["npm", "install", "--silent", "--prefix", directory, PACKAGE])
                done.touch()
            (directory / "server.js").write_text(_SERVER)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_REGION": self.region,
            "AWS_ENDPOINT_URL_KINESIS": self.endpoint,
        }

    @property
    def properties(self) -> dict[str, str]:
        """By which a connector finds it."""
        return {
            "aws.region": self.region,
            "aws.endpoint": self.endpoint,
            "aws.credentials.provider.basic.accesskeyid": "tests",
            "aws.credentials.provider.basic.secretkey": "tests",
        }

    def start(self) -> None:
        [self.port] = free_ports(1)
        self.spawn(["node", _installed() / "server.js", str(self.port)])
        self.wait_until(self._answers)

    def _answers(self) -> bool:
        from botocore.exceptions import BotoCoreError

        try:
            self.client.list_streams()
        except BotoCoreError as error:
            raise OSError(str(error)) from error
        return True

    @property
    def client(self) -> Any:
        from botocore.session import Session

        if self._client is None:
            self._client = Session().create_client(
                "kinesis",
                self.region,
                endpoint_url=self.endpoint,
                aws_access_key_id="tests",
                aws_secret_access_key="tests",
            )
        return self._client

    def create_stream(self, name: str, shards: int = 2) -> str:
        """A new empty stream; its name."""
        self.client.create_stream(StreamName=name, ShardCount=shards)
        self._wait_until_active(name)
        return name

    def put(self, stream: str, records: Sequence[tuple[str, bytes]]) -> None:
        """Keys and contents, in their order."""
        for key, data in records:
            self.client.put_record(StreamName=stream, PartitionKey=key, Data=data)

    def shards(self, stream: str) -> list[dict[str, Any]]:
        """Those that take records."""
        found = self.client.list_shards(StreamName=stream)["Shards"]
        return [s for s in found if "EndingSequenceNumber" not in s["SequenceNumberRange"]]

    def split(self, stream: str, shard: Mapping[str, Any]) -> None:
        """Make two shards of one."""
        first, last = (int(key) for key in shard["HashKeyRange"].values())
        middle = str((first + last) // 2 + 1)
        arguments = {"ShardToSplit": shard["ShardId"], "NewStartingHashKey": middle}
        self.client.split_shard(StreamName=stream, **arguments)
        self._wait_until_active(stream)

    def merge(self, stream: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
        """Make one shard of two neighbours."""
        shards = {"ShardToMerge": one["ShardId"], "AdjacentShardToMerge": other["ShardId"]}
        self.client.merge_shards(StreamName=stream, **shards)
        self._wait_until_active(stream)

    def read(self, stream: str) -> list[tuple[str, bytes]]:
        """Keys and contents of all records, shard after shard."""
        found = []
        for shard in self.client.list_shards(StreamName=stream)["Shards"]:
            place = {"StreamName": stream, "ShardId": shard["ShardId"]}
            answer = self.client.get_shard_iterator(**place, ShardIteratorType="TRIM_HORIZON")
            iterator = answer["ShardIterator"]
            while iterator:
                answer = self.client.get_records(ShardIterator=iterator)
                found += [(record["PartitionKey"], record["Data"]) for record in answer["Records"]]
                iterator = answer.get("NextShardIterator") if answer["Records"] else None
        return found

    def _wait_until_active(self, stream: str) -> None:
        while True:
            answer = self.client.describe_stream_summary(StreamName=stream)
            if answer["StreamDescriptionSummary"]["StreamStatus"] == "ACTIVE":
                return
            time.sleep(0.01)


def _installed() -> Path:
    return cache_directory() / PACKAGE.replace("@", "-")
