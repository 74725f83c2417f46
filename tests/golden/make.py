"""Write the golden state of the present format: ``python tests/golden/make.py``.

Needs a Redis server and Java, as the tests do. Takes a minute. What it writes replaces tests/golden/format-N,
N being the format of this version's codec. Tokens and epochs are drawn from a
seed, so that snapshots and the entries of Redis are the same bytes in every run; the files of RocksDB and of
Spark hold times and identifiers of their own.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import sys
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import golden_state as golden
from support.redis_server import RedisServer
from support.small_chunks import small_chunks
from windrow.state import RedisStore, RocksDBStore, Store
from windrow.state.codec import VERSION

#: what RocksDB writes for people
_LOGS = ("LOG", "LOG.old.*", "LOCK")
#: Hadoop's checksums, which are not looked for where they are missing
_CHECKSUMS = (".*.crc",)


def main() -> None:
    target = golden.FOLDER
    shutil.rmtree(target, ignore_errors=True)
    (target / "snapshots").mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        write_snapshots(target / "snapshots")
        write_redis(target, Path(scratch) / "redis")
        write_rocksdb(target, Path(scratch) / "rocksdb")
        write_spark(target, Path(scratch) / "spark")
    for path in sorted(path for path in target.rglob("*") if path.is_file()):
        print(f"{path.stat().st_size:>9,}  {path.relative_to(target.parent)}")


def write_snapshots(folder: Path) -> None:
    for name in [*golden.QUERIES, *golden.BEGUN]:
        operator = golden.plain(name)
        golden.begin(operator)
        (folder / f"{name}.state").write_bytes(operator.snapshot())


def fill(store: Store) -> None:
    """All cases in one store, rows in small chunks, so that there are some."""
    chance = random.Random(VERSION)
    with (
        small_chunks(fewest=8, most=24),
        patch("secrets.token_bytes", chance.randbytes),
        patch("secrets.randbelow", chance.randrange),
    ):
        for name in golden.QUERIES:
            golden.begin(golden.opened_in(store, name))
        for name in golden.WINDOWS:
            window = golden.window_in(store, name)
            golden.slide(window, name, 0, golden.WRITTEN * 40)
            window.close()


def write_redis(target: Path, folder: Path) -> None:
    folder.mkdir()
    server = RedisServer(folder)
    try:
        store = RedisStore(server.url, namespace="golden")
        fill(store)
        store.close()
        dump = json.dumps(_entries(server.url), indent=0).encode()
        (target / "redis.json.gz").write_bytes(gzip.compress(dump, mtime=0))
    finally:
        server.kill()


def _entries(url: str) -> dict[str, str]:
    """All that the server holds, under its own keys, in base64; read without windrow."""
    import redis

    client: Any = redis.Redis.from_url(url)
    return {b64encode(key).decode(): b64encode(client.get(key)).decode() for key in sorted(client.keys())}


def write_rocksdb(target: Path, folder: Path) -> None:
    with RocksDBStore(folder / "closed") as store:
        fill(store)
        shutil.copytree(folder / "closed", folder / "killed")  # all of it is in the log
    golden.zip_folder(folder / "closed", target / "rocksdb-closed.zip", _LOGS)
    golden.zip_folder(folder / "killed", target / "rocksdb-killed.zip", _LOGS)


def write_spark(target: Path, folder: Path) -> None:
    import windrow as wr
    from support import chaos_job
    from support.stream_source import Source

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = wr.spark.session(chaos_job.SETTINGS, master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    folder.mkdir()
    source = Source(spark, folder, golden.SPARK_SCHEMA)
    source.write([golden.rows(step) for step in range(golden.WRITTEN)])
    source.run(golden.spark_query().run)
    spark.stop()
    checkpoint = folder / "checkpoint"
    golden.move_checkpoint(checkpoint, str(folder), golden.ELSEWHERE)
    golden.zip_folder(checkpoint, target / "spark-checkpoint.zip", _CHECKSUMS)


if __name__ == "__main__":
    main()
