"""A window in a process of its own whose memory is limited: how many values it can hold.

The limit counts from what the process has once its window, still empty, is open (``RLIMIT_DATA``, Linux):
RocksDB's threads alone have stacks of a hundred MB, which are never touched. Every thousand values a line
says how many there are, so that the parent process knows even if it is killed; the last line says
what memory was used.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from windrow.monoids.base import Monoid
from windrow.state import RedisStore, RocksDBStore
from windrow.swag.amta import AMTA
from windrow.swag.log_mta import LogMTA
from windrow_experiments.measure import Counter
from windrow_experiments.mta.sized import sized, too_large
from windrow_experiments.mta.windows import in_memory

__all__ = ["PATIENCE", "Reached", "main", "reached"]

#: values between two lines
_STEP = 1024
#: bytes that RocksDB may use for itself
_ROCKSDB = 16 << 20
#: updates after a window is full, as it has to slide as well; fewer where they take longer than a second of
#: the processor
_SLIDES = 2048
#: seconds of the processor that a process may use without a word: [MTA] 5.7, on a machine that does nothing
#: else
PATIENCE = 5.0
#: how many times longer it may wait without using the processor, be it busy or stuck
_WAITING = 60
#: bytes of a thread's stack
_STACK = 256 << 10
#: how processes say that there is no memory left, where they still can
_NONE_LEFT = "no memory left"
_NO_MEMORY = ("memoryerror", "bad_alloc", "cannot allocate memory", "can't start new thread")


@dataclass(frozen=True)
class Reached:
    """How many values a window held, whether it was full and slid, and what it took."""

    values: int
    is_full: bool
    #: why it got no further
    why: str = ""
    #: largest resident memory beyond what the process had before, in MB; None: it did not live to say it
    resident_mb: float | None = None
    #: nanoseconds and combines of an update once it was full
    update_ns: float | None = None
    update_combines: float | None = None
    #: of the whole process
    seconds: float = 0.0


def reached(window: str, megabytes: int, capacity: int, place: str, *, patience: float = PATIENCE) -> Reached:
    """Fill a window in a process of its own; ``place`` is a folder for RocksDB, or the address of a Redis
    server. A process that says nothing for ``patience`` seconds of the processor is killed, as in the paper:
    where not even an error finds memory, Python may try again for ever."""
    program = f"from {__name__} import main; main()"
    command = [sys.executable, "-c", program, window, str(megabytes), str(capacity), place]
    begun = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as failed:
        process = subprocess.Popen(command, stdout=said, stderr=failed)
        was_silent = _waited_for(process, said, patience)
        said.seek(0)
        failed.seek(0)
        lines, errors = said.read().splitlines(), failed.read()
    found = _last(lines)
    if found is None:
        if process.returncode > 0 and not any(text in errors.lower() for text in _NO_MEMORY):
            raise RuntimeError(f"{window} in {megabytes} MB failed: {errors.strip()}")
        was_killed = process.returncode == -signal.SIGKILL
        why = f"silent for {patience:g} s" if was_silent else "killed" if was_killed else _NONE_LEFT
        found = Reached(max((int(line) for line in lines if line.isdigit()), default=0), False, why)
    return replace(found, seconds=time.perf_counter() - begun)


def _waited_for(process: subprocess.Popen[bytes], said: IO[str], patience: float) -> bool:
    """Wait until a process ends; whether it had to be killed, as it said nothing for too long."""
    size, used, since = 0, 0.0, time.monotonic()
    while (
        _processor_seconds(process.pid) - used < patience and time.monotonic() - since < _WAITING * patience
    ):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            return False
        if os.fstat(said.fileno()).st_size != size:
            size = os.fstat(said.fileno()).st_size
            used, since = _processor_seconds(process.pid), time.monotonic()
    process.kill()
    process.wait()
    return True


def _processor_seconds(pid: int) -> float:
    """What a process, which has not been waited for, has used of the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _last(lines: list[str]) -> Reached | None:
    """What a process said at its end; None: it did not come to that."""
    ends = [line for line in lines if line.startswith("{")]
    return Reached(**json.loads(ends[-1])) if ends else None


def main() -> None:
    """What runs in that process."""
    window, place = sys.argv[1], sys.argv[4]
    megabytes, capacity = int(sys.argv[2]), int(sys.argv[3])
    threading.stack_size(_STACK)
    counter = Counter(sized)
    made: Any = _made(window, counter.monoid, place)
    made.insert(capacity)
    if hasattr(made, "flush"):
        made.flush()  # starts the store's thread
    base = _status("VmRSS")
    limit = _status("VmData") + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        while len(made) < capacity:
            for _ in range(min(_STEP, capacity - len(made))):
                made.insert(capacity)
            print(len(made), flush=True)
        update = _slide(made, counter, capacity)
    except MemoryError:
        values = len(made)
        made = None  # room to say so
        found = Reached(values, False, _NONE_LEFT)
    else:
        found = Reached(capacity, True, "", (_status("VmHWM") - base) / 1e6, *update)
    print(json.dumps(asdict(found)), flush=True)
    os._exit(0)  # nothing is to be written any more, and threads of a store may have no memory to end


def _slide(window: Any, counter: Counter, capacity: int) -> tuple[float, float]:
    """Nanoseconds and combines of an update."""
    begun, used, before = time.perf_counter(), time.process_time(), counter.combines
    done = 0
    while done < _SLIDES and time.process_time() < used + 1:
        window.insert(capacity)
        window.evict_while(too_large)
        if window.query() != capacity:
            raise AssertionError(f"{window.query()} values, not {capacity}")
        done += 1
    return (time.perf_counter() - begun) / done * 1e9, (counter.combines - before) / done


def _made(window: str, monoid: Monoid, place: str) -> Any:
    algorithm, _, kind = window.partition(" on ")
    if not kind:
        return in_memory()[algorithm](monoid)
    tree: type[AMTA] | type[LogMTA] = AMTA if algorithm == "AMTA" else LogMTA
    if kind == "Redis":
        return tree.open(RedisStore(place), f"limited {time.time_ns()}", monoid)
    return tree.open(RocksDBStore(place, memory=_ROCKSDB), "limited", monoid)


def _status(name: str) -> int:
    """Bytes of a line of /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"/proc/self/status has no {name}")
