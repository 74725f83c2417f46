"""``make demo-kafka``: a broker, a job from Kafka to Kafka that is killed at random, and what came of it.

python examples/kafka/demo.py [--kills 3] [--calls 3000]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kafka_broker import Broker
from kafka_calls import (
    JARS,
    calls,
    check_results,
    command_of,
    count_of,
    finish,
    kill_after_results,
    produce,
    rejected,
    start,
)
from kafka_jars import NotFetched, broker_jars, connector_jars


def main() -> int:
    parser = argparse.ArgumentParser(description="Calls through Kafka, with a job that is killed.")
    parser.add_argument("--kills", type=int, default=3, help="how often the job is killed (default: 3)")
    parser.add_argument("--calls", type=int, default=3_000, help="how many calls there are (default: 3000)")
    options = parser.parse_args()
    say("fetching Kafka and Spark's connector, unless they are in .cache/kafka ...")
    try:
        broker, connector = broker_jars(JARS), connector_jars(JARS)
    except NotFetched as error:
        print(f"the demo needs jars that cannot be had here: {error}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        return show(Path(scratch), broker, connector, options.calls, options.kills)


def say(text: str) -> None:
    print(text, flush=True)


def show(folder: Path, broker_folder: Path, connector: Path, count: int, kills: int) -> int:
    rows = calls(count)
    with Broker(broker_folder, folder / "broker") as broker:
        say(f"a broker listens on {broker.address}")
        produce(broker.address, rows, poison=5)
        say(f"{len(rows):,} calls and 5 records that are not JSON are in the topic 'calls'")
        for number in range(1, kills + 1):
            say(f"run {number}: the job starts, to be killed a moment after its next results ...")
            job = start(folder, broker.address, connector)
            more = count_of(broker.address) + 1
            if not kill_after_results(job, broker.address, more, random.uniform(0, 2)):
                say("  it ended before it was killed")
                break
            say(f"  killed: {count_of(broker.address):,} results are in the topic 'longest'")
        began = time.monotonic()
        say("the last run: nobody kills it ...")
        finish(start(folder, broker.address, connector), folder)
        say(f"  it took {time.monotonic() - began:.0f} s, with the start of Spark")
        found, repeats = check_results(broker.address, rows)
        left = rejected(folder)
        raised = sum(row["rejected_reason"] == "raised" for row in left)
        say(f"{found:,} results, all as they must be, after {repeats} repeats were dropped by their ids")
        say(f"{len(left)} rows were rejected: {raised} raised an error, {len(left) - raised} are not JSON")
        say("windrow verify reads both topics, and computes the results again ...")
        return subprocess.run(command_of("verify", folder, connector)).returncode


if __name__ == "__main__":
    sys.exit(main())
