"""Calls in and results out of Kafka, with a job between them that is killed: what comes out, and what must.

Calls are out of order by less than the watermark stays behind, so that none is late. Some records are not
JSON, and some calls have no length, over which the job's own aggregate raises: both must be rejected. The
demo and the tests share all of it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka_jars import joined_paths

import windrow as wr
from windrow.cli.own_monoids import own_monoids
from windrow.testing import assert_same_results, evaluate

__all__ = [
    "JARS",
    "POISON",
    "calls",
    "check_results",
    "command_of",
    "count_of",
    "expected",
    "finish",
    "kill_after_results",
    "produce",
    "records",
    "rejected",
    "start",
    "write_job",
]

HERE = Path(__file__).parent
JARS = HERE.parents[1] / ".cache" / "kafka"
ADDRESS = "127.0.0.1:9092"  # in the job file, in place of that of the broker
START = datetime(2024, 5, 1, tzinfo=UTC)
POISON = b"this is {not} JSON"


def calls(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Calls of three regions, a second apart on average; the last is far ahead, so that all windows fire."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        moment = START + timedelta(seconds=number - draw.randrange(100))
        region = draw.choice(["north", "south", None])
        found.append({"ts": moment, "region": region, "len": draw.randrange(30)})
    return [*found, {"ts": START + timedelta(days=1), "region": "north", "len": 1}]


def json_value(row: dict[str, Any]) -> bytes:
    return json.dumps(row | {"ts": row["ts"].isoformat()}).encode()


def produce(
    address: str,
    rows: list[dict[str, Any]],
    poison: int,
    topic: str = "calls",
    encoded: Callable[[dict[str, Any]], bytes] = json_value,
) -> None:
    """Send calls, in the order in which they come, and among them records that nothing can be made of."""
    producer = KafkaProducer(bootstrap_servers=address)
    for number, row in enumerate(rows):
        producer.send(topic, encoded(row), partition=number % 2).get(30)
        if number < poison:
            producer.send(topic, POISON).get(30)
    producer.close()


def start(folder: Path, address: str, jars: Path, client: str = "") -> subprocess.Popen[bytes]:
    """The job, in a process group of its own; what it says is added to job.log. ``client``: lines of options
    for Kafka's client."""
    write_job(folder, address, client)
    with (folder / "job.log").open("ab") as log:
        command = command_of("run", folder, jars, "--json")
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def write_job(folder: Path, address: str, client: str = "") -> None:
    """The job of a broker, and its aggregate."""
    shutil.copy(HERE / "own.py", folder / "own.py")
    text = (HERE / "job.toml").read_text().replace(ADDRESS, address)
    (folder / "job.toml").write_text(text.replace(".options]\n", f".options]\n{client}"))


def command_of(what: str, folder: Path, jars: Path, *options: str) -> list[str]:
    """``windrow run`` or another command, with the job, its aggregate and the connector's jars."""
    command = [sys.executable, "-m", "windrow.cli", what, str(folder / "job.toml"), *options]
    return [*command, "--monoids", str(folder / "own.py"), "--conf", f"spark.jars={joined_paths(jars)}"]


def kill_after_results(job: subprocess.Popen[bytes], address: str, more: int, pause: float) -> bool:
    """Kill -9 the job and all it started a moment after so many results have come; whether it still ran."""
    while job.poll() is None and count_of(address) < more:
        time.sleep(0.2)
    time.sleep(pause)
    is_running = job.poll() is None
    if is_running:
        os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    return is_running


def finish(job: subprocess.Popen[bytes], folder: Path, code: int = 0, seconds: float = 600) -> None:
    """Wait for the end, which must be with this exit code; an error shows what the job said."""
    try:
        found = job.wait(seconds)
    except BaseException:  # interrupted, or it hangs: nothing of it stays
        os.killpg(job.pid, signal.SIGKILL)
        raise
    if found != code:
        said = (folder / "job.log").read_text()[-3000:]
        raise RuntimeError(f"the job ended with {found}, and not {code}: {said}")


def count_of(address: str) -> int:
    """How many records the topic of results has."""
    return len(records(address))


def check_results(address: str, rows: list[dict[str, Any]]) -> tuple[int, int]:
    """All results are there as they must be; how many, and how many repeats were dropped."""
    found, repeats = received(address)
    assert_same_results(found, expected(rows))
    return len(found), repeats


def received(address: str) -> tuple[list[dict[str, Any]], int]:
    """The results in the topic, each once, by its id; and how many records were repeats of others."""
    every = [json.loads(record) for record in records(address)]
    once = {record.pop("result_id"): record for record in every}
    for record in once.values():
        for edge in ("window_start", "window_end"):
            record[edge] = datetime.fromisoformat(record[edge])
    return list(once.values()), len(every) - len(once)


def records(address: str) -> list[bytes]:
    """What is in the topic of results."""
    consumer = KafkaConsumer(bootstrap_servers=address, consumer_timeout_ms=10_000)
    parts = [TopicPartition("longest", part) for part in consumer.partitions_for_topic("longest") or ()]
    consumer.assign(parts)
    ends = consumer.end_offsets(parts) if parts else {}
    consumer.seek_to_beginning(*parts) if parts else None
    found: list[bytes] = []
    while len(found) < sum(ends.values()):
        for records in consumer.poll(1_000).values():
            found += [record.value for record in records]
    consumer.close()
    return found


def expected(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The windows of all calls but the last, computed without Spark from calls that have a length."""
    good = [row for row in rows[:-1] if row["len"]]
    own = own_monoids([str(HERE / "own.py")])
    query = wr.query(time="ts", by="region").window(minute=wr.Sliding("1m", slide="20s"))
    query = query.agg(n=wr.count(), longest=wr.max("len"), parts=own["parts"]("len"))
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("region", pa.string()), ("len", pa.int64())])
    found: list[dict[str, Any]] = evaluate(query, pa.Table.from_pylist(good, schema=schema))
    return found


def rejected(folder: Path, name: str = "rejected") -> list[dict[str, Any]]:
    """The rows in the sink of rejected rows."""
    files = sorted((folder / name).glob("micro_batch=*/part-*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
