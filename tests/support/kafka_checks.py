"""What is tried on a broker in one more process with Spark, after the job of examples/kafka has run:
``windrow verify``, again with a result that is wrong, and the job ``avro.toml``. Prints the exit codes.

    python kafka_checks.py FOLDER ADDRESS JARS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

import windrow as wr
from support.chaos_job import SETTINGS
from windrow.cli.main import main as windrow

__all__ = ["main"]


def write_wrong_result(address: str) -> None:
    """The first result of the topic once more, as another one with one row more."""
    consumer = KafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest")
    parts = [TopicPartition("longest", part) for part in consumer.partitions_for_topic("longest")]
    consumer.assign(parts)
    consumer.seek_to_beginning(*parts)
    found = next(iter(consumer))
    consumer.close()
    value = json.loads(found.value)
    wrong = value | {"n": value["n"] + 1, "result_id": "wrong"}
    producer = KafkaProducer(bootstrap_servers=address)
    producer.send("longest", json.dumps(wrong).encode()).get(30)
    producer.close()


def main(folder: Path, address: str, jars: str) -> None:
    wr.spark.session(SETTINGS | {"spark.jars": jars}, master="local[2]").sparkContext.setLogLevel("ERROR")
    own = ["--monoids", str(folder / "own.py")]
    verify = ["verify", str(folder / "job.toml"), *own]
    codes = [windrow(verify)]
    write_wrong_result(address)
    codes.append(windrow(verify))
    if (folder / "avro.toml").exists():
        codes.append(windrow(["run", str(folder / "avro.toml"), "--quiet", *own]))
    print("exit codes", *codes)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
