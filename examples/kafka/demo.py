"""``make demo-kafka``: a broker, a job from Kafka to Kafka that is killed at random, and what came of it.

python examples/kafka/demo.py [--kills 3] [--calls 3000]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from kafka_broker import Broker
from kafka_calls import (
    calls,
    count_of,
    expected,
    finish,
    kill_after_results,
    produce,
    received,
    rejected,
    start,
)
from kafka_jars import NotFetched, broker_jars, connector_jars

from windrow.testing import assert_same_results

JARS = Path(__file__).resolve().parents[2] / ".cache" / "kafka"


def main() -> int:
    parser = argparse.ArgumentParser(description="Calls through Kafka, with a job that is killed.")
    parser.add_argument("--kills", type=int, default=3, help="how often the job is killed (default: 3)")
    parser.add_argument("--calls", type=int, default=3_000, help="how many calls there are (default: 3000)")
    options = parser.parse_args()
    try:
        broker, connector = broker_jars(JARS), connector_jars(JARS)
    except NotFetched as error:
        print(f"the demo needs jars that cannot be had here: {error}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        return show(Path(scratch), broker, connector, options.calls, options.kills)


def show(folder: Path, broker_folder: Path, connector: Path, count: int, kills: int) -> int:
    rows = calls(count)
    with Broker(broker_folder, folder / "broker") as broker:
        produce(broker.address, rows, poison=5)
        print(f"{len(rows):,} calls and 5 records that are not JSON are in the topic 'calls'")
        for number in range(kills):
            job = start(folder, broker.address, connector)
            more = count_of(broker.address) + 1
            if kill_after_results(job, broker.address, more, random.uniform(0, 2)):
                print(f"kill {number + 1}: {count_of(broker.address):,} results were in the topic 'longest'")
        began = time.monotonic()
        finish(start(folder, broker.address, connector), folder)
        took = time.monotonic() - began
        found, repeats = received(broker.address)
    assert_same_results(found, expected(rows))
    left = rejected(folder)
    raised = sum(row["rejected_reason"] == "raised" for row in left)
    print(f"the last run took {took:.0f} s")
    print(f"{len(found):,} results, all as they must be, after {repeats} repeats were dropped by their ids")
    print(
        f"{len(left)} rows were rejected: {raised} over which the aggregate raised, and "
        f"{len(left) - raised} not JSON"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
